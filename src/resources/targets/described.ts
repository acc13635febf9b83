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
}

export async function describedTargets(
  { stores }: Pick<House, 'stores'>,
  targets: readonly CommonSettings[],
): Promise<readonly DescribedTarget[]> {
  const failures = await failuresOf(stores.incidents);
  return targets.map(settings => ({ settings, failure: failures.get(settings.id) }));
}

export async function describedTarget(
  { stores }: Pick<House, 'stores'>,
  settings: CommonSettings,
): Promise<DescribedTarget> {
  return { settings, failure: (await failuresOf(stores.incidents)).get(settings.id) };
}
