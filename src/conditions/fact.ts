import type { Duration } from '../lib/duration.ts';
import type { AskedCondition, AskedRule } from './asked.ts';

export type FactKind = 'certificate' | 'credential';

/** Something that ends at a time known before, as the application hands it in. */
export interface ExpiryFact {
  readonly kind: FactKind;
  /** Unique among those of its kind; the incident's subject. */
  readonly key: string;
  /** Epoch ms. */
  readonly expiresAt: number;
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
