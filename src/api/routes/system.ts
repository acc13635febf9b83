import { checkConfig } from '../../resources/config/check.ts';
import { exportConfig } from '../../resources/config/export.ts';
import { importConfig } from '../../resources/config/import.ts';
import { getConfigStatus } from '../../resources/config/status.ts';
import { listEngines } from '../../resources/engines/list.ts';
import { etagOf } from '../../resources/etag.ts';
import { getSettings } from '../../resources/settings/get.ts';
import { getAuthSettings } from '../../resources/settings/get-auth.ts';
import { getSystemInfo } from '../../resources/settings/info.ts';
import { updateSettings } from '../../resources/settings/update.ts';
import { updateAuthSettings } from '../../resources/settings/update-auth.ts';
import type { SettingsView } from '../../resources/settings/view.ts';
import { item, list } from '../envelope.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';
import { authSettingsShape, sentAuthSettings, wireAuthSettings } from '../wire/auth-settings.ts';
import { checkShape, statusShape, wireCheck, wireConfigurationStatus } from '../wire/check.ts';
import { configFilesShape, wireConfigFiles } from '../wire/config-files.ts';
import { engineShape, wireEngine } from '../wire/engine.ts';
import { infoShape, wireInfo } from '../wire/info.ts';
import { sentSettings, settingsShape, wireSettings } from '../wire/settings.ts';

/** The tag is that of the settings: what is said beside them may change with a restart. */
const etag = ({ settings }: SettingsView<object>): string => etagOf(settings);

const conf = { path: '/system/settings/conf', answer: item(settingsShape, wireSettings), etag };
const auth = {
  path: '/system/settings/auth',
  answer: item(authSettingsShape, wireAuthSettings),
  etag,
  isOfInstallation: true,
} as const;

const MERGED = 'Maps are merged, null takes back to the default, and everything else replaces.';

export const systemRoutes: readonly Route[] = [
  route({
    id: 'configuration.status',
    method: 'GET',
    path: '/system/config/status',
    summary: 'Tell whether the files on disk are in force, with every error',
    verb: getConfigStatus,
    answer: item(statusShape, wireConfigurationStatus),
  }),
  route({
    id: 'configuration.check',
    method: 'POST',
    path: '/system/config/check',
    summary: 'Tell what is wrong with texts of files; nothing is changed',
    description: 'A file that is not named counts as it stands on disk. References are not looked up.',
    verb: checkConfig,
    takes: { shape: { name: 'ConfigurationTexts' } },
    answer: item(checkShape, wireCheck),
    example: { body: { files: { 'notifications.yml': 'targets:\n  - { id: ops, type: webhok }\n' } } },
  }),
  route({
    id: 'configuration.export',
    method: 'GET',
    path: '/system/config/files',
    summary: 'Get the texts of the configuration in force, secrets masked',
    verb: exportConfig,
    answer: item(configFilesShape, wireConfigFiles),
  }),
  route({
    id: 'configuration.import',
    method: 'PUT',
    path: '/system/config/files',
    summary: 'Put texts in the place of those of their names; all of them take effect or none',
    description:
      'A file that is not named stays as it is. A masked secret stands for the one that is there now.',
    verb: importConfig,
    takes: { shape: { name: 'ConfigurationImport' } },
    answer: item(configFilesShape, wireConfigFiles),
    errors: WRITE_ERRORS,
    example: { body: { files: { 'outputs.yml': '# nothing is declared\n' }, message: 'tidied up' } },
  }),
  route({
    ...conf,
    id: 'settings.get',
    method: 'GET',
    summary: 'Get the settings with every default, secrets masked',
    verb: getSettings,
  }),
  route({
    ...conf,
    id: 'settings.update',
    method: 'PATCH',
    summary: 'Change the settings that are sent, in the file and in force',
    description: `${MERGED} What waits for a restart, or is set by the environment or a flag, is answered in notes.`,
    verb: updateSettings,
    takes: { shape: settingsShape, kind: 'part' },
    accept: sentSettings,
    errors: WRITE_ERRORS,
    example: { body: { delivery: { retrySchedule: ['0s', '10s', '1m'] } } },
  }),
  route({
    ...auth,
    id: 'authSettings.get',
    method: 'GET',
    summary: 'Get how people sign in, secrets masked',
    verb: getAuthSettings,
  }),
  route({
    ...auth,
    id: 'authSettings.update',
    method: 'PATCH',
    summary: 'Change how people sign in, in the file and in force',
    description: MERGED,
    verb: updateAuthSettings,
    takes: { shape: authSettingsShape, kind: 'part' },
    accept: sentAuthSettings,
    errors: WRITE_ERRORS,
    example: { body: { fallback: true } },
  }),
  route({
    id: 'system.info',
    method: 'GET',
    path: '/system/info',
    summary: 'Tell what the server runs on',
    verb: getSystemInfo,
    answer: item(infoShape, wireInfo),
  }),
  route({
    id: 'engines.list',
    method: 'GET',
    path: '/system/engines',
    summary: 'List how reading each pipeline goes',
    verb: listEngines,
    answer: list(engineShape, wireEngine),
  }),
];
