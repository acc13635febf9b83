import * as z from 'zod';
import { groupFieldProblem } from '../../auth/sso/groups.ts';
import { isLoopback } from '../../lib/addresses.ts';
import { type PipelineSettings, pipelineSchema } from '../../pipelines/settings.ts';
import { forbiddenSettings } from '../check/addresses.ts';
import {
  applyOverrides,
  type Overridden,
  readOverrides,
  refusedBehind,
  type SettingFlags,
  unknownVariables,
} from '../overrides.ts';
import {
  elsewhere,
  type Finding,
  FindingList,
  finding,
  findingList,
  formatPath,
  type ItemFinding,
} from '../problems.ts';
import { foreignSettings, overQuota, type WorkspaceRestrictions, withRestrictions } from '../restrictions.ts';
import { fileOrigin, problemsOf, type ValueOrigin } from '../schema-problems.ts';
import { childOf, layers, type Schema, valueAt } from '../schema-walk.ts';
import {
  clearTextSecrets,
  type ReferenceSources,
  referencesIn,
  resolveReferences,
} from '../secrets/references.ts';
import { type Settings, settingsSchema } from '../settings.ts';
import type { ConfigDocument } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';
import { type ConfinedSettings, confineSettings } from './confined-settings.ts';

export interface SettingsReading {
  /** Undefined when something is wrong with them. */
  readonly settings: Settings | undefined;
  /** The pipelines that can be read, whatever is wrong with other settings. */
  readonly pipelines: readonly PipelineSettings[];
  readonly origin: ValueOrigin;
  readonly overridden: readonly Overridden[];
  readonly problems: FindingList;
  readonly warnings: readonly Finding[];
  /** Warnings of what is not used although it stands there. */
  readonly refusals: readonly Finding[];
  /** Files that settings refer to. */
  readonly files: readonly string[];
}

export interface SettingsSources extends ReferenceSources {
  readonly flags: SettingFlags;
}

/** What headgate.yml says, together with what flags and environment override, before it is read by the schema. */
function writtenSettings(
  document: SettingsDocument,
  { environment, flags, restrictions, ...sources }: SettingsSources,
) {
  const schema = settingsSchema;
  const lookup = { ...sources, environment, restrictions, schema, templates: [] };
  const resolved = resolveReferences(document.value, lookup);
  const unusable = [...resolved.problems, ...resolved.refused];
  const overrides = readOverrides(schema, environment, flags);
  const chosen = withoutNulls(schema, applyOverrides(resolved.value, overrides));
  const confined = restrictions && confineSettings(chosen, unusable);
  const value =
    restrictions === undefined || confined === undefined
      ? chosen
      : withRestrictions(confined.value, restrictions);
  const origin = fileOrigin({ ...document, base: [], references: resolved.references, overrides });
  return { resolved, unusable, overrides, confined, value, origin };
}

type SettingsDocument = Pick<ConfigDocument, 'file' | 'value' | 'places'>;

/** The settings of a file that was checked elsewhere, a pipeline at a time. Undefined when they are wrong after all. */
export function* checkedSettings(
  document: SettingsDocument,
  sources: SettingsSources,
): Generator<undefined, Pick<SettingsReading, 'settings' | 'origin' | 'overridden'>, undefined> {
  const { overrides, confined, value, origin } = writtenSettings(document, sources);
  const overridden = overrides.map(({ path, name }) => ({ path, name }));
  const rest = settingsSchema.safeParse({ ...Object(value), pipelines: [] }).data;
  const pipelines: PipelineSettings[] = [];
  const items = rawPipelines(value);
  for (const item of items) {
    const { data } = pipelineSchema.safeParse(item);
    if (data !== undefined) pipelines.push(data);
    yield;
  }
  if (rest === undefined || pipelines.length < items.length)
    return { settings: undefined, origin, overridden };
  return { settings: withSwitchedOff({ ...rest, pipelines }, confined), origin, overridden };
}

/** Reads headgate.yml together with what flags and environment override. */
export function readSettings(document: ConfigDocument, sources: SettingsSources): SettingsReading {
  const { environment, restrictions } = sources;
  const schema = settingsSchema;
  const { resolved, unusable, overrides, confined, value, origin } = writtenSettings(document, sources);
  const parsed = schema.safeParse(value);
  const placed = ({ path, message }: ItemFinding): Finding => finding(() => origin.place(path), message);
  const unresolved = [
    ...(confined === undefined ? unusable.map(placed) : []),
    ...neededForStore(document.value, origin),
  ];
  const unknown = resolved.unknown.map(placed);
  const refused = parsed.success ? new FindingList() : problemsOf(parsed.error, { schema, value, origin });
  const otherwise = elsewhere(refused, [...unresolved, ...unknown]);
  const settings = parsed.success ? withSwitchedOff(parsed.data, confined) : undefined;
  const pipelines = settings?.pipelines ?? readablePipelines(value);
  return {
    settings,
    pipelines,
    origin,
    overridden: overrides.map(({ path, name }) => ({ path, name })),
    problems: findingList(
      unresolved,
      // Never a refusal without a reason.
      unresolved.length + otherwise.length > 0 ? otherwise : refused,
      duplicateIds(value, origin),
      sharedTokens(value, origin),
      missingForOpenid(value, origin),
      restrictions === undefined ? [] : refusedToWorkspaces(restrictions, document.value, origin),
    ),
    warnings: [
      ...unknown,
      ...unknownVariables(schema, environment),
      ...refusedBehind(schema, resolved.value, overrides).map(({ path, name }) =>
        finding(
          () => ({ file: document.file, path: formatPath(path), ...document.places.of(path) }),
          () => `is not allowed, and would be refused if ${name} did not stand in for it`,
        ),
      ),
      ...(parsed.success && restrictions === undefined ? unencrypted(parsed.data.api, origin) : []),
      ...(parsed.success ? missingEmailScope(parsed.data, origin) : []),
      ...(parsed.success ? unlikelyGroups(parsed.data, origin) : []),
      ...clearTextSecrets(schema, document.value, resolved.references).map(path => clearText(origin, path)),
    ],
    refusals: [
      ...(parsed.success ? forbidden(parsed.data, origin, restrictions) : []),
      ...(confined?.refusals ?? []).map(placed),
    ],
    files: resolved.files,
  };
}

function withSwitchedOff(settings: Settings, confined: ConfinedSettings | undefined): Settings {
  if (confined === undefined || confined.switchedOff.size === 0) return settings;
  const pipelines = settings.pipelines.map((pipeline, index) => {
    const switchedOff = confined.switchedOff.get(index);
    return switchedOff === undefined ? pipeline : { ...pipeline, switchedOff };
  });
  return { ...settings, pipelines };
}

/** A claim that cannot come: every user would keep the role of before. */
function unlikelyGroups({ auth, hosted }: Settings, origin: ValueOrigin): Finding[] {
  const { openid } = auth;
  const problem = openid === undefined ? undefined : groupFieldProblem(openid.groupField);
  if (openid === undefined || hosted !== undefined || problem === undefined) return [];
  const place = () => origin.place(['auth', 'openid', 'groupField']);
  return [finding(place, `'${openid.groupField}' ${problem}; no user has groups`)];
}

/** The settings that say where the store is are read before it is open, and with them its secrets. */
const neededForStore = (value: unknown, origin: ValueOrigin): Finding[] =>
  referencesIn([], childOf(value, 'storage'), ['storage']).map(({ path, name }) =>
    finding(
      () => origin.place(path),
      `says where the store is, and so cannot be read from it as \${secret:${name}}; write \${env:NAME} or \${file:/path} into headgate.yml`,
    ),
  );

function forbidden(
  settings: Settings,
  origin: ValueOrigin,
  restrictions: WorkspaceRestrictions | undefined,
): Finding[] {
  const findings = forbiddenSettings(settings, restrictions?.delivery ?? settings.delivery);
  return findings.map(({ path, message }) => finding(() => origin.place(path), message));
}

/** On this machine alone nobody listens in between, and a proxy in front speaks TLS. */
function unencrypted({ host, tls, trustedProxies }: Settings['api'], origin: ValueOrigin): Finding[] {
  if (tls !== undefined || trustedProxies.length > 0 || host === 'localhost' || isLoopback(host)) return [];
  const message =
    'passwords and tokens come over the network in clear; set api.tls, or name the proxy in front that speaks TLS in api.trustedProxies';
  return [finding(() => origin.place(['api', 'host']), message)];
}

export const clearText = (origin: ValueOrigin, path: Path): Finding =>
  finding(
    () => origin.place(path),
    'this secret is readable to everybody who sees the file; write ${env:NAME}, ${file:/path} or ${secret:NAME} instead',
  );

/** Without an address nobody is found who has not come before. */
function missingEmailScope({ auth, hosted }: Settings, origin: ValueOrigin): Finding[] {
  const { type, openid } = auth;
  if (hosted === undefined || type !== 'openid' || openid === undefined) return [];
  if (openid.scope.split(' ').includes('email')) return [];
  const message = "members are found by their verified e-mail address; add 'email'";
  return [finding(() => origin.place(['auth', 'openid', 'scope']), message)];
}

/** A known key without a value counts as omitted. */
function withoutNulls(schema: Schema, value: unknown): unknown {
  const map = layers(schema).find(layer => layer instanceof z.ZodObject);
  if (map === undefined || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, entry]) => entry !== null || !Object.hasOwn(map.shape, key))
      .map(([key, entry]) => {
        const field = Object.hasOwn(map.shape, key) ? map.shape[key] : undefined;
        return [key, field === undefined ? entry : withoutNulls(field, entry)];
      }),
  );
}

const rawPipelines = (value: unknown): readonly unknown[] => {
  const list = childOf(value, 'pipelines');
  return Array.isArray(list) ? list : [];
};

const readablePipelines = (value: unknown): PipelineSettings[] =>
  rawPipelines(value).flatMap(item => pipelineSchema.safeParse(item).data ?? []);

function duplicateIds(value: unknown, origin: ValueOrigin): Finding[] {
  const seen = new Map<unknown, Path>();
  return rawPipelines(value).flatMap((item, index) => {
    const id = childOf(item, 'id');
    const first = seen.get(id);
    const path = ['pipelines', index, 'id'];
    if (typeof id !== 'string' || first === undefined) {
      seen.set(id, path);
      return [];
    }
    const message = () =>
      `the id '${origin.reference(path) ?? id}' is already that of ${formatPath(first.slice(0, -1))}, line ${origin.place(first).line}; ids are unique`;
    return [finding(() => origin.place(path), message)];
  });
}

/** The token alone says which pipeline pushes. */
function sharedTokens(value: unknown, origin: ValueOrigin): Finding[] {
  const seen = new Map<unknown, string>();
  return rawPipelines(value).flatMap((item, index) => {
    const token = childOf(item, 'token');
    if (childOf(item, 'push') !== true || typeof token !== 'string') return [];
    const first = seen.get(token);
    if (first === undefined) {
      seen.set(token, formatPath(['pipelines', index]));
      return [];
    }
    const message = `this is also the token of ${first}; each pipeline that pushes needs its own`;
    return [finding(() => origin.place(['pipelines', index, 'token']), message)];
  });
}

/** Settings that the operator decides. */
const refusedToWorkspaces = (
  restrictions: WorkspaceRestrictions,
  value: unknown,
  origin: ValueOrigin,
): Finding[] => [
  ...overQuotaProblems(restrictions, value, origin),
  ...foreignSettings(value).map(path =>
    finding(() => origin.place(path), 'is decided by the operator of this service; remove it'),
  ),
];

function overQuotaProblems(
  restrictions: WorkspaceRestrictions,
  value: unknown,
  origin: ValueOrigin,
): Finding[] {
  const message = overQuota(restrictions, 'pipelines', rawPipelines(value).length);
  return message === undefined ? [] : [finding(() => origin.place(['pipelines']), message)];
}

/** A provider has to be named, and has to know where to send people back. */
function missingForOpenid(value: unknown, origin: ValueOrigin): Finding[] {
  if (valueAt(value, ['auth', 'type']) !== 'openid') return [];
  const place = () => origin.place(['auth', 'type']);
  const needed = [
    [[['auth', 'openid']], "'auth.openid' is required"],
    [
      [
        ['instance', 'externalUrl'],
        ['hosted', 'authUrl'],
      ],
      "'instance.externalUrl' is required, as the provider sends people back there",
    ],
  ] as const;
  return needed
    .filter(([paths]) => paths.every(path => valueAt(value, [...path]) === undefined))
    .map(([, message]) => finding(place, `for the type 'openid' ${message}`));
}
