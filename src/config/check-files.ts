import { dump } from 'js-yaml';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import { createFileDiscovery } from '../pipelines/scrape/file-discovery.ts';
import {
  type CheckFindings,
  type Configuration,
  type Declared,
  INPUTS_FILE,
  NOTIFICATIONS_FILE,
  OUTPUTS_FILE,
  SETTINGS_FILE,
} from './configuration.ts';
import { type Loaded, loadConfiguration } from './load.ts';
import { readClientTls, readDataFile, readTls } from './operator-files.ts';
import { type ConfigProblem, formatProblem } from './problems.ts';
import type { Sources } from './read/configuration.ts';
import { shownDeclared, shownSettings, shownTarget } from './secrets/shown.ts';

/** The findings of `headgate check`. */
export interface CheckResult extends CheckFindings {
  /** Undefined when there are errors. */
  readonly configuration: Configuration | undefined;
}

/** Loads the files as the server would and keeps nothing running. */
export function checkConfiguration(sources: Sources, clock: Pick<Clock, 'now'>): CheckResult {
  const result = loadConfiguration(sources, clock);
  return {
    ok: result.ok,
    errors: result.ok ? [] : result.problems,
    warnings: [...result.warnings, ...(result.ok ? badFiles(result, sources.folder) : [])],
    configuration: result.ok ? result.configuration : undefined,
  };
}

/** Where the files are checked need not be where those they name are, so that this is no error here. */
const badFiles = (loaded: Loaded, folder: string): ConfigProblem[] => [
  ...badCertificate(loaded, folder),
  ...badPipelineFiles(loaded, folder),
];

function badPipelineFiles({ configuration, settingOrigin }: Loaded, folder: string): ConfigProblem[] {
  return configuration.settings.pipelines.flatMap((pipeline, index) => {
    if (pipeline.push) return [];
    const { tls, files = [], engine } = pipeline;
    const fault = tls && readClientTls(tls, folder).fault;
    const lists = createFileDiscovery(engine)(new Map(files.map(path => [path, readDataFile(path, folder)])));
    const at = (key: string, message: string): ConfigProblem => ({
      ...settingOrigin.place(['pipelines', index, key]),
      message,
    });
    return [
      ...(fault === undefined ? [] : [at('tls', fault)]),
      ...lists.faults.map(message => at('files', message)),
    ];
  });
}

function badCertificate({ configuration, settingOrigin }: Loaded, folder: string): ConfigProblem[] {
  const { tls } = configuration.settings.api;
  try {
    if (tls !== undefined) readTls(tls, folder);
    return [];
  } catch (error) {
    return [{ ...settingOrigin.place(['api', 'tls']), message: reasonOf(error) }];
  }
}

/** The answer for a terminal: a line for each finding and one that sums up. */
export function checkLines({ errors, warnings, configuration }: CheckResult): string[] {
  return [
    ...errors.map(problem => `error: ${formatProblem(problem)}`),
    ...warnings.map(problem => `warning: ${formatProblem(problem)}`),
    configuration === undefined
      ? `${count(errors.length, 'error')}, ${count(warnings.length, 'warning')}`
      : `ok: ${contents(configuration)}, ${count(warnings.length, 'warning')}`,
  ];
}

/** The answer for programs. */
export const checkJson = ({ ok, errors, warnings }: CheckResult): string =>
  JSON.stringify({ ok, errors, warnings }, null, 2);

const contents = ({ settings, raw, inputs, outputs }: Configuration): string =>
  [
    count(settings.pipelines.length, 'pipeline'),
    count(raw.targets.size, 'target'),
    count(raw.notifications.size, 'notification'),
    ...(raw.inhibitions.size === 0 ? [] : [count(raw.inhibitions.size, 'inhibition')]),
    ...(inputs.length === 0 ? [] : [count(inputs.length, 'declared input')]),
    ...(outputs.length === 0 ? [] : [count(outputs.length, 'declared output')]),
  ].join(', ');

const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;

/** The configuration with every default, by file, as the files would say it; secrets masked. */
export function effectiveText(configuration: Configuration, format: 'yaml' | 'json'): string {
  const { targets, notifications, inhibitions, inputs, outputs } = configuration;
  const json = JSON.stringify(
    {
      [SETTINGS_FILE]: shownSettings(configuration),
      [NOTIFICATIONS_FILE]: {
        targets: targets.map(target => shownTarget(configuration, target)),
        notifications: notifications.map(notification => notification.settings),
        ...(inhibitions.length > 0 && { inhibitions: inhibitions.map(({ settings }) => settings) }),
      },
      ...(inputs.length > 0 && { [INPUTS_FILE]: { inputs: inputs.map(effectiveDeclared) } }),
      ...(outputs.length > 0 && { [OUTPUTS_FILE]: { outputs: outputs.map(effectiveDeclared) } }),
    },
    null,
    2,
  );
  return format === 'json' ? json : dump(JSON.parse(json), { lineWidth: -1 }).trimEnd();
}

const effectiveDeclared = (declared: Declared): object => ({
  ...shownDeclared(declared),
  disabled: declared.disabled,
  group: declared.group,
});
