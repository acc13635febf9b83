import { SETTINGS_FILE } from '../config/configuration.ts';
import { firstProblems } from '../config/problems.ts';
import { readSettings } from '../config/read/settings.ts';
import type { ReferenceSources } from '../config/secrets/references.ts';
import type { Settings } from '../config/settings.ts';
import { readConfigDocument } from '../config/yaml/document.ts';
import { ConfigurationInvalid } from './configuration-invalid.ts';

/**
 * Reads headgate.yml alone, so that errors of other files do not matter. Without the store of secrets only `storage` is
 * sure: other settings may hold placeholders. Throws `ConfigurationInvalid`.
 */
export function settingsIn(folder: string, references: ReferenceSources): Settings {
  const document = readConfigDocument(folder, SETTINGS_FILE);
  const { settings, problems } = readSettings(document, { ...references, flags: {} });
  const all = [...document.problems, ...problems];
  if (settings === undefined || all.length > 0)
    throw new ConfigurationInvalid(firstProblems('problems', all, [SETTINGS_FILE]));
  return settings;
}
