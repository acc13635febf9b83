import { failuresOf } from '../../notifications/target-health.ts';
import type { IncidentRow } from '../../storage/storage.ts';
import type { CommonSettings } from '../../targets/target.ts';
import type { House } from '../verb.ts';

/** A target as reads answer it. */
export interface DescribedTarget {
  /** Effective; secrets serialise as masks. */
  readonly settings: CommonSettings;
  /** The open incident of a target that fails. */
  readonly failure: IncidentRow | undefined;
  /** Why what is due for it waits its turn, when it does. */
  readonly heldBecause: string | undefined;
}

type Sight = Pick<House, 'stores' | 'heldBecause'>;

export async function describedTargets(
  { stores, heldBecause }: Sight,
  targets: readonly CommonSettings[],
): Promise<readonly DescribedTarget[]> {
  const failures = await failuresOf(stores.incidents);
  return targets.map(settings => ({
    settings,
    failure: failures.get(settings.id),
    heldBecause: heldBecause(settings.id),
  }));
}

export async function describedTarget(
  { stores, heldBecause }: Sight,
  settings: CommonSettings,
): Promise<DescribedTarget> {
  const failure = (await failuresOf(stores.incidents)).get(settings.id);
  return { settings, failure, heldBecause: heldBecause(settings.id) };
}
