import type { Duration } from '../lib/duration.ts';
import type { AskedCondition, AskedRule } from './asked.ts';

export type FactKind = 'certificate' | 'credential';

/** Something that ends at a time known before, as the application hands it in. */
export interface ExpiryFact {
  readonly kind: FactKind;
  /** Unique among those of its kind; the incident's subject. */
  readonly key: string;
  /** Epoch ms; undefined while nobody has seen it. */
  readonly expiresAt: number | undefined;
  /** Somebody renews it in time without being told, so that only one that has expired is told of. */
  readonly renewsItself?: true;
}

/** What a condition on facts has in its conf. */
export interface FactConf {
  /** A key, or a pattern with `*`. */
  readonly name: string;
  readonly within: Duration;
  readonly notifyOnResolution: boolean;
}

export type FactCondition = AskedCondition<'fact', FactKind, FactConf, ExpiryFact>;
export type FactRule = AskedRule<'fact', FactKind, FactConf, ExpiryFact>;
