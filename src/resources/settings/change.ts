import type { Configuration } from '../../config/load.ts';
import { withoutOverrides } from '../../config/overrides.ts';
import { type PlainMap, plainCopy } from '../../config/plain.ts';
import { settingsSchema } from '../../config/settings.ts';
import { asInFile } from '../config/as-in-file.ts';
import { mergePatch } from '../config/merge.ts';
import { withStoredSecrets } from '../config/stored-secrets.ts';
import { assertMatches } from '../etag.ts';
import type { Call } from '../verb.ts';
import type { SettingsView } from './view.ts';

interface SettingsChange<Content extends object> {
  /** Of all settings. */
  readonly patch: PlainMap;
  readonly ifMatch: string | undefined;
  /** What the caller sees, whose tag `ifMatch` is. */
  readonly view: (configuration: Configuration) => SettingsView<Content>;
}

/** Merges into headgate.yml and answers what is in force then. Throws as `house.save` does, and for `ifMatch`. */
export async function changeSettings<Content extends object>(
  call: Call,
  { patch, ifMatch, view }: SettingsChange<Content>,
): Promise<SettingsView<Content>> {
  const { actor, house } = call;
  const saved = await house.save({
    author: actor.name,
    door: 'api',
    edits(now) {
      const before = { inFile: now.raw.settings, inForce: plainCopy(now.settings) };
      assertMatches(ifMatch, view(now).settings);
      const { value, secrets } = withStoredSecrets(call, {
        schema: settingsSchema,
        owner: 'settings',
        item: withoutOverrides(mergePatch(before.inForce, patch), now.overridden, before),
        present: before,
      });
      return [{ section: 'settings', id: '', value: asInFile(settingsSchema, value, before), secrets }];
    },
  });
  return view(saved);
}
