import { checkConfig } from '../../resources/config/check.ts';
import { getConfigStatus } from '../../resources/config/status.ts';
import { listEngines } from '../../resources/engines/list.ts';
import { etagOf } from '../../resources/etag.ts';
import { getSettings } from '../../resources/settings/get.ts';
import { getSystemInfo } from '../../resources/settings/info.ts';
import { updateSettings } from '../../resources/settings/update.ts';
import { item, list } from '../envelope.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';
import { checkShape, statusShape, wireCheck, wireConfigurationStatus } from '../wire/check.ts';
import { engineShape, wireEngine } from '../wire/engine.ts';
import { infoShape, wireInfo } from '../wire/info.ts';
import { sentSettings, settingsShape, wireSettings } from '../wire/settings.ts';

const conf = {
  path: '/system/settings/conf',
  answer: item(settingsShape, wireSettings),
  etag: etagOf,
};

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
    summary: 'Replace the sections that are sent, each as a whole; null takes one back to its defaults',
    verb: updateSettings,
    takes: { shape: settingsShape, kind: 'part' },
    accept: sentSettings,
    errors: WRITE_ERRORS,
    example: { body: { delivery: { retrySchedule: ['0s', '10s', '1m'] } } },
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
