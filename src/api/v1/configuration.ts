import * as z from 'zod';
import {
  type CheckFindings,
  type ConfigurationStatus,
  FILES,
  type FileTexts,
} from '../../config/configuration.ts';
import {
  applyConfig,
  checkConfig,
  exportConfig,
  getConfigStatus,
  importConfig,
  planConfig,
  type TaggedPlan,
} from '../../resources/config.ts';
import { item } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';

const problem = z.object({
  file: z.string().describe('A file, or `environment` or `flags`.'),
  line: z.int().describe('Counts from 1; 0 for what stands in no file.'),
  column: z.int().describe('Counts from 1; 0 for what stands in no file.'),
  path: z.string().describe('As in `targets[2].url`; empty for a whole file.'),
  message: z.string().describe('For a person; secrets in it are masked.'),
});
const found = {
  errors: z.array(problem).readonly().describe('What keeps it from taking effect.'),
  warnings: z.array(problem).readonly().describe('What takes effect and may not be meant.'),
};

const check = z.object({ ok: z.boolean().describe('Whether there are no errors.'), ...found });
const checkShape: Shape = { name: 'ConfigurationCheck', schema: check };

/** The same as `headgate check --json` prints. */
const wireCheck = ({ ok, errors, warnings }: CheckFindings): z.output<typeof check> => ({
  ok,
  errors,
  warnings,
});

const status = z.object({
  state: z.enum(['ok', 'error']).describe('`ok` while the files on disk are active.'),
  loadedAt: z.iso.datetime().nullable().describe('When the active configuration was read.'),
  ...found,
});
const statusShape: Shape = { name: 'ConfigurationStatus', schema: status };

const wireConfigurationStatus = (now: ConfigurationStatus): z.output<typeof status> => now;

const files = z.object({
  files: z
    .partialRecord(z.enum(FILES), z.string())
    .describe('The texts by the names of their files; secrets in them are masked.'),
});

const configFilesShape: Shape = { name: 'ConfigurationFiles', schema: files };

const wireConfigFiles = (texts: FileTexts): z.output<typeof files> => ({ files: texts });

const plannedChange = z.object({
  action: z.enum(['create', 'change', 'remove']),
  section: z.enum(['targets', 'notifications', 'inhibitions', 'inputs', 'outputs', 'settings']),
  id: z.string().describe('Empty for settings.'),
  fields: z
    .array(
      z.object({
        path: z.string().describe('Items of lists by their ids, where they have some.'),
        old: z.unknown().optional().describe('Left out where there was nothing.'),
        new: z.unknown().optional().describe('Left out where there will be nothing.'),
      }),
    )
    .readonly()
    .describe('Every field that changes, or that a new item says; secrets are masked.'),
  movedSecrets: z
    .array(
      z.object({
        path: z.string(),
        setting: z.string().describe('What decides where the secret goes, or how it is protected.'),
      }),
    )
    .readonly()
    .describe('Secrets that must be sent anew first, as a setting beside them changes.'),
});
const plan = z.object({
  etag: z.string().describe('Sent as `If-Match`, it applies exactly this.'),
  changes: z.array(plannedChange).readonly().describe('Empty when all is as it should be.'),
});
const planShape: Shape = { name: 'ConfigurationPlan', schema: plan };

const wirePlan = ({ etag, changes }: TaggedPlan): z.output<typeof plan> => ({ etag, changes });

const WANTED = { documents: [{ name: 'alerts.yml', text: 'inputs:\n  - { id: app, type: syslog }\n' }] };

export const configurationRoutes: readonly Route[] = [
  route({
    id: 'configuration.status',
    method: 'GET',
    path: '/system/config/status',
    summary: 'Report whether the files on disk are active, with every error',
    verb: getConfigStatus,
    answer: item(statusShape, wireConfigurationStatus),
  }),
  route({
    id: 'configuration.check',
    method: 'POST',
    path: '/system/config/check',
    summary: 'Check texts of files and list their errors; nothing is changed',
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
    summary: 'Get the texts of the active configuration, secrets masked',
    verb: exportConfig,
    answer: item(configFilesShape, wireConfigFiles),
  }),
  route({
    id: 'configuration.import',
    method: 'PUT',
    path: '/system/config/files',
    summary: 'Put texts in the place of those of their names; all of them take effect or none',
    description:
      'A file that is not named stays as it is. A masked secret stands for the one that is there now, unless where it goes or how it is protected changes. Secrets in clear go to the encrypted store.',
    verb: importConfig,
    takes: { shape: { name: 'ConfigurationImport' } },
    answer: item(configFilesShape, wireConfigFiles),
    errors: WRITE_ERRORS,
    example: { body: { files: { 'outputs.yml': '# nothing is declared\n' }, message: 'tidied up' } },
  }),
  route({
    id: 'configuration.plan',
    method: 'POST',
    path: '/system/config/plan',
    summary: 'Show what would change if items and settings were as texts say; nothing is changed',
    description:
      'A text holds any of `targets`, `notifications`, `inhibitions`, `inputs` and `outputs`, and settings of `headgate.yml` by their names. An item of a text is the whole of it; settings are merged. What no text has stays, unless `prune` says otherwise.',
    verb: planConfig,
    takes: { shape: { name: 'WantedConfiguration' } },
    answer: item(planShape, wirePlan),
    etag: ({ etag }) => etag,
    errors: WRITE_ERRORS,
    example: { body: WANTED },
  }),
  route({
    id: 'configuration.apply',
    method: 'POST',
    path: '/system/config/apply',
    summary: 'Make items and settings what texts say: all of it takes effect, in one version, or nothing',
    description:
      'With the `etag` of a plan as `If-Match` exactly that plan is applied, or 412 is answered. A second time it changes nothing.',
    verb: applyConfig,
    takes: { shape: { name: 'AppliedConfiguration' } },
    answer: item(planShape, wirePlan),
    errors: WRITE_ERRORS,
    example: { body: { ...WANTED, message: 'declares the input of the application' } },
  }),
];
