import * as z from 'zod';
import type { PipelineState } from '../../pipelines/components/component.ts';
import { checkConfig, exportConfig, getConfigStatus, importConfig } from '../../resources/config.ts';
import { listEngines } from '../../resources/engines.ts';
import { etagOf } from '../../resources/etag.ts';
import {
  getAuthSettings,
  getSettings,
  getSystemInfo,
  type SettingsView,
  type SystemInfo,
  updateAuthSettings,
  updateSettings,
} from '../../resources/settings.ts';
import { isoTime, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';
import {
  checkShape,
  configFilesShape,
  statusShape,
  wireCheck,
  wireConfigFiles,
  wireConfigurationStatus,
} from './configuration.ts';
import {
  authSettingsShape,
  sentAuthSettings,
  sentSettings,
  settingsShape,
  wireAuthSettings,
  wireSettings,
} from './settings.ts';

const engine = z.object({
  id: z.string().describe('Id of the pipeline.'),
  engine: z.string(),
  mode: z.enum(['pull', 'push']).describe('Whether it is read or sends by itself.'),
  group: z.string(),
  url: z.string().optional(),
  state: z.enum(['waiting', 'reachable', 'unreachable']),
  lastAt: z.iso.datetime().optional().describe('When it was last read, or last sent.'),
  error: z.string().optional(),
  instances: z.int().min(0),
  components: z.int().min(0),
});
const engineShape: Shape = { name: 'Engine', schema: engine };

export const wireEngine = (state: PipelineState): z.output<typeof engine> => ({
  id: state.id,
  engine: state.engine,
  mode: state.mode,
  group: state.group,
  ...(state.url !== null && { url: state.url }),
  state: state.state,
  ...(state.lastAt !== null && { lastAt: isoTime(state.lastAt) }),
  ...(state.error !== null && { error: state.error }),
  instances: state.instances,
  components: state.components,
});

const info = z.object({
  hostname: z.string(),
  version: z.string(),
  apiPort: z.int(),
  loadavg: z.array(z.number()).readonly().describe('Over 1, 5 and 15 minutes.'),
  memory: z.object({ free: z.number(), total: z.number() }).describe('Bytes.'),
  cpus: z.array(z.object({ model: z.string(), speed: z.number() })).readonly(),
  os: z.object({ platform: z.string(), arch: z.string(), release: z.string() }),
  BUILD: z.object({ VERSION: z.string() }),
  uptime: z.number().describe('Seconds.'),
  distMode: z.literal('single'),
  headgate: z.object({ instance: z.string() }).describe('What this installation is called.'),
});
const infoShape: Shape = { name: 'SystemInfo', schema: info };

/** `/system/info` under the family's names. */
const wireInfo = ({ instance, uptimeSeconds, ...facts }: SystemInfo): z.output<typeof info> => ({
  ...facts,
  BUILD: { VERSION: facts.version },
  uptime: uptimeSeconds,
  distMode: 'single',
  headgate: { instance },
});

/** The tag is that of the settings: what is said beside them may change with a restart. */
const etag = ({ settings }: SettingsView<object>): string => etagOf(settings);

const settingsRoute = { path: '/system/settings/conf', answer: item(settingsShape, wireSettings), etag };
const authSettingsRoute = {
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
    ...settingsRoute,
    id: 'settings.get',
    method: 'GET',
    summary: 'Get the settings with every default, secrets masked',
    verb: getSettings,
  }),
  route({
    ...settingsRoute,
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
    ...authSettingsRoute,
    id: 'authSettings.get',
    method: 'GET',
    summary: 'Get how people sign in, secrets masked',
    verb: getAuthSettings,
  }),
  route({
    ...authSettingsRoute,
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
