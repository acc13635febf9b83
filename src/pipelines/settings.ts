import * as z from 'zod';
import type { Cancel } from '../lib/clock.ts';
import type { ClientTls } from '../lib/http/tunnel.ts';
import { duration, httpUrl, identifier, secretText } from '../lib/schemas.ts';
import { customRuleSchema } from './engines/custom.ts';
import { JSON_ENGINES, NAMESPACE_ENGINES, TEXT_ENGINES } from './engines/index.ts';

const KIB = 1024;
const MIB = KIB * KIB;

/** Over all pipelines. */
export const MOST_COMPONENTS = 200_000;
export const MOST_SERIES = 2_000_000;
/** Lists of addresses that one pipeline may have. */
const MOST_FILES = 20;
const MOST_CAPACITIES = 1000;

const labelName = z.string().min(1).max(200);

const token = secretText.refine(secret => secret.reveal().length >= 8, 'must be at least 8 characters');

const common = {
  id: identifier.describe('Names the pipeline.'),
  group: identifier.default('default').describe('The group its inputs and outputs belong to.'),
  bytesPerEvent: z
    .number()
    .positive()
    .max(MIB)
    .optional()
    .describe(
      'How large an event is on average, for engines that count events and no bytes: conditions on volume multiply by it.',
    ),
  maxComponents: z
    .int()
    .min(1)
    .max(MOST_COMPONENTS)
    .default(100_000)
    .describe('Inputs and outputs that are kept; further ones are refused.'),
  maxSeries: z
    .int()
    .min(1)
    .max(MOST_SERIES)
    .default(1_000_000)
    .describe('Series that are kept, over all instances; further ones are refused.'),
};

const path = z.string().min(1).max(4096).meta({ file: true });

const tls = z
  .strictObject({
    certPath: path
      .optional()
      .describe(
        'File of the certificate to show, in PEM form, then of those between it and the root. Relative to the folder of the configuration.',
      ),
    privKeyPath: path.optional().describe('File of its private key in PEM form.'),
    passphrase: secretText.optional().describe('What the private key is encrypted with.'),
    caPath: path
      .optional()
      .describe('File of the certificates in PEM form that are trusted, in place of those of the system.'),
    rejectUnauthorized: z
      .boolean()
      .default(true)
      .describe('Refuse certificates that no trusted authority has signed.'),
  })
  .superRefine(({ certPath, privKeyPath, passphrase }, context) => {
    const addIssue = (key: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [key], message });
    if ((certPath === undefined) !== (privKeyPath === undefined))
      addIssue(
        certPath === undefined ? 'certPath' : 'privKeyPath',
        'is needed: a certificate and its key go together',
      );
    if (passphrase !== undefined && privKeyPath === undefined)
      addIssue('passphrase', "must be left out: there is no 'privKeyPath' that it could open");
  });

const pull = {
  ...common,
  url: httpUrl
    .optional()
    .describe(
      "Where its metrics are: Prometheus or OpenMetrics text, or the engine's own JSON. This or `files` is needed.",
    )
    .meta({ destination: true }),
  files: z
    .array(path)
    .min(1)
    .max(MOST_FILES)
    .optional()
    .describe(
      'In place of `url`: files in the form of `file_sd` of Prometheus, YAML or JSON, that list where its instances are. Relative to the folder of the configuration; read again when they change.',
    )
    .meta({ destination: true, file: true }),
  push: z
    .literal(false, 'must be true, or left out')
    .optional()
    .describe('Left out or false: the pipeline is read.'),
  interval: duration({ min: '1s', max: '1d' }).prefault('10s').describe('How often it is read.'),
  timeout: duration({ min: '100ms', max: '10m' }).prefault('5s').describe('How long one reading may take.'),
  maxBytes: z
    .int()
    .min(KIB)
    .max(256 * MIB)
    .default(16 * MIB)
    .describe('Bytes one reading may have, unpacked.'),
  token: token.optional().describe('Sent as Authorization: Bearer.'),
  username: z
    .string()
    .max(512)
    .regex(/^[^:\p{Cc}]*$/u, 'must hold no colon and no control character')
    .optional()
    .describe('Sent with `password` as Authorization: Basic, in place of a token.'),
  password: secretText.optional().describe('Belongs to `username`.'),
  tls: tls
    .optional()
    .describe('How an https address is trusted, and the certificate that is shown to it.')
    .meta({ protection: true }),
};

const push = {
  ...common,
  push: z.literal(true, 'must be true').describe('The pipeline sends by itself.'),
  token: token
    .optional()
    .describe(
      'What the sender shows as Authorization: Bearer. Left out, only ingest tokens of the API count, which count beside it.',
    ),
};

const ENGINE = 'The program whose metrics are read.';
const engineText = `must be one of ${[...TEXT_ENGINES, ...JSON_ENGINES, 'rsyslog', 'custom'].join(', ')}`;

const namespace = z
  .string()
  .max(64)
  .regex(/^(?:[a-zA-Z_]\w*)?$/, 'must be letters, digits and underscores, or empty')
  .optional()
  .describe(
    `What the names of the engine's series begin with, where its own configuration changes that (${NAMESPACE_ENGINES.join(', ')}); '' for nothing.`,
  );

const text = { engine: z.enum(TEXT_ENGINES).describe(ENGINE), namespace };

const queueCapacities = z
  .record(labelName, z.int().min(1))
  .refine(
    record => Object.keys(record).length <= MOST_CAPACITIES,
    `must name at most ${MOST_CAPACITIES} actions`,
  )
  .optional()
  .describe(
    'Messages the queue of an action holds, by the name of the action: rsyslog reports the size of its queues and not what fits in.',
  );

const resetCounters = z
  .boolean()
  .default(false)
  .describe(
    'What the setting of that name of impstats is: on, each round of statistics has what was counted since the one before, and a round that is lost is not counted.',
  );

/** One item of `pipelines:`. `push: true` marks the ones that send by themselves; the others are read from their url. */
export const pipelineSchema = z
  .discriminatedUnion(
    'engine',
    [
      z.discriminatedUnion('push', [
        z.strictObject({ ...text, ...pull }),
        z.strictObject({ ...text, ...push }),
      ]),
      z.strictObject({ engine: z.enum(JSON_ENGINES).describe(ENGINE), ...pull }),
      z.strictObject({
        engine: z.literal('rsyslog').describe(ENGINE),
        ...push,
        queueCapacities,
        resetCounters,
      }),
      z.discriminatedUnion('push', [
        z.strictObject({
          engine: z.literal('custom').describe(ENGINE),
          ...pull,
          rules: z.array(customRuleSchema).min(1).max(200).describe('Which series say what.'),
        }),
        z.strictObject({
          engine: z.literal('custom').describe(ENGINE),
          ...push,
          rules: z
            .array(customRuleSchema)
            .max(200)
            .optional()
            .describe('Which series of remote write and OTLP say what.'),
        }),
      ]),
    ],
    { error: issue => (issue.code === 'invalid_union' ? engineText : undefined) },
  )
  .superRefine((settings, context) => {
    if ('namespace' in settings && settings.namespace !== undefined)
      if (!NAMESPACE_ENGINES.includes(settings.engine))
        context.addIssue({
          code: 'custom',
          path: ['namespace'],
          message: `must be left out: the names of ${settings.engine} always begin alike`,
        });
    if (settings.push) return;
    const { token: bearer, username, password, url, files } = settings;
    const addIssue = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (url === undefined && files === undefined)
      addIssue('url', 'is needed, or files that list its instances');
    if (url !== undefined && files !== undefined)
      addIssue('files', 'must be left out: url says where the metrics are');
    if (bearer !== undefined && username !== undefined)
      addIssue('username', 'must be left out: token is sent, and one is enough');
    if ((username === undefined) !== (password === undefined))
      addIssue(
        username === undefined ? 'username' : 'password',
        'is needed: username and password go together',
      );
  });

export type PipelineSettings = z.output<typeof pipelineSchema> & {
  /** Why it is not read, whatever its settings are; no file can say so. */
  readonly switchedOff?: string;
};
export type PushSettings = Extract<PipelineSettings, { push: true }>;
export type PullSettings = Exclude<PipelineSettings, { push: true }>;
/** Those whose series have names and labels, to be read by a profile. */
export type ProfiledSettings = Exclude<PipelineSettings, { engine: 'rsyslog' }>;
export type ScrapeTlsSettings = z.output<typeof tls>;

/** A file of data: its value, undefined when the file is empty; or why it cannot be read. */
export type DataFile = { readonly value: unknown } | { readonly error: string };

/** Files on the operator's disk that settings of pipelines refer to. Relative paths begin at the folder of the configuration. */
export interface OperatorFiles {
  /** As the files are now. With a fault beside it, `tls` is what was read before; without `tls` there is nothing to use. */
  tls(settings: ScrapeTlsSettings): {
    readonly tls: ClientTls | undefined;
    readonly fault: string | undefined;
  };
  /** Hands over the files at once, then whenever one changes, until the returned call. */
  watch(paths: readonly string[], take: (files: ReadonlyMap<string, DataFile>) => void): Cancel;
}
