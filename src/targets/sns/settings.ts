import * as z from 'zod';
import { withAliases } from '../../lib/aliases.ts';
import type { HttpClient } from '../../lib/http/client.ts';
import { EVEN_WHEN_INVALID, httpUrl, secretText } from '../../lib/schemas.ts';
import { connectionSettings, requestPatienceMs } from '../http-connection.ts';
import { commonSettings, type ProcessUse, type Sender } from '../target.ts';
import { groupName, topicName } from './names.ts';

/** The region becomes part of the host name that keys are sent to. */
const region = z
  .string()
  .regex(/^[a-z]{2,}(-[a-z0-9]+){1,5}$/, "must be a region such as 'eu-central-1'")
  .max(64);

/** E.164, with `*` for any digits. */
const PHONE_PATTERN = /^\+[0-9*]{1,20}$/;
const MAIL_PATTERN = /^[^\s@,;<>]{1,64}@[^\s@,;<>]{1,255}$/;

const allowed = z
  .string()
  .max(320)
  .refine(text => PHONE_PATTERN.test(text) || MAIL_PATTERN.test(text), {
    error:
      "must be a phone number such as '+15555551234' or an e-mail address, '*' standing for any characters",
  });

const phoneNumbers = z
  .string()
  .max(4096)
  .refine(text => splitNumbers(text).every(number => /^\+[1-9]\d{6,14}$/.test(number)), {
    error: "must be phone numbers such as '+15555551234' with commas between",
  });

/** Splits a list with commas between. */
export const splitNumbers = (text: string): string[] => text.split(',').map(number => number.trim());

const key = secretText.refine(secret => /^[\x20-\x7e]+$/.test(secret.reveal()), {
  error: 'must be one or more ASCII characters, without line breaks',
});

const fields = z.strictObject({
  ...commonSettings,
  type: z.literal('sns').describe('Kind of target.'),
  region: region.describe('Region of the service.').meta({ destination: true }),
  destinationType: z
    .enum(['topic', 'phoneNumber'])
    .describe('Whether a topic or phones get the events.')
    .meta({ destination: true }),
  topicArn: topicName
    .describe(
      "ARN of the topic, or an expression over the event that gives it; '' with destinationType phoneNumber.",
    )
    .meta({ template: true, destination: true }),
  topicType: z.enum(['standard', 'fifo']).default('standard').describe('Kind of topic.'),
  messageGroupId: groupName
    .describe(
      "Message group of a fifo topic, or an expression over the event that gives it; '' for a standard topic.",
    )
    .meta({ template: true }),
  phoneNumber: phoneNumbers
    .optional()
    .describe('Phone numbers that get the events; with destinationType phoneNumber.')
    .meta({ destination: true }),
  allowList: z
    .array(allowed)
    .max(1000)
    .default([])
    .describe('Phone numbers and e-mail addresses that may get events; an empty list allows all.')
    .meta({ aliases: ['allowlist'] }),
  awsAuthenticationMethod: z
    .enum(['auto', 'manual', 'secret'])
    .default('auto')
    .describe(
      'auto: from the environment or the machine. manual: the keys below. secret: a stored pair of keys.',
    )
    .meta({ protection: true }),
  awsApiKey: key.optional().describe('Access key; with awsAuthenticationMethod manual.'),
  awsSecretKey: key.optional().describe('Secret key; with awsAuthenticationMethod manual.'),
  awsSecret: z
    .string()
    .min(1)
    .max(512)
    .optional()
    .describe('Name of the stored secret that holds `ACCESS_KEY_ID:SECRET_ACCESS_KEY`; with method secret.')
    .meta({ secretName: true }),
  enableAssumeRole: z
    .boolean()
    .default(false)
    .describe('Take on a role before sending.')
    .meta({ protection: true }),
  assumeRoleArn: z
    .string()
    .min(20)
    .max(2048)
    .regex(/^arn:/, "must begin with 'arn:'")
    .optional()
    .describe('ARN of the role.')
    .meta({ protection: true }),
  assumeRoleExternalId: z
    .string()
    .min(2)
    .max(1224)
    .optional()
    .describe('External id the role asks for.')
    .meta({ protection: true }),
  durationSeconds: z
    .int()
    .min(900)
    .max(43_200)
    .default(3600)
    .describe('How long the role is held, in seconds.'),
  maxRetries: z.int().min(0).max(100).optional().describe('How often a request is repeated at once.'),
  endpoint: httpUrl
    .optional()
    .describe("Address of a service that speaks as SNS does; without it the region's.")
    .meta({ destination: true }),
  signatureVersion: z
    .enum(['v2', 'v4'])
    .default('v4')
    .refine(version => version === 'v4', {
      error: "must be v4: AWS has replaced version 2 and its library signs no other way; set it to 'v4'",
    })
    .describe('How requests are signed: v4. v2 is refused, since AWS has replaced it.')
    .meta({ protection: true }),
  reuseConnections: z.boolean().default(true).describe('Use connections for more than one request.'),
  rejectUnauthorized: z
    .boolean()
    .default(true)
    .describe('Refuse certificates that nobody vouches for.')
    .meta({ protection: true }),
  ...connectionSettings,
});

export { requestPatienceMs };
export type SnsSettings = z.infer<typeof fields>;

export const snsSettings = withAliases(
  fields.superRefine((settings, context) => {
    for (const problem of problemsOf(settings)) context.addIssue({ code: 'custom', ...problem });
  }, EVEN_WHEN_INVALID),
);

interface SettingProblem {
  readonly path: PropertyKey[];
  readonly message: string;
}

/** Settings that were refused themselves are here as they were written. */
const problemsOf = (settings: SnsSettings): SettingProblem[] => [
  ...(settings.destinationType === 'topic' ? topicProblems(settings) : []),
  ...(settings.destinationType === 'phoneNumber' ? phoneProblems(settings) : []),
  ...keyProblems(settings),
];

/** The text as it was written; undefined for a refused one. */
const writtenText = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null && 'text' in value && typeof value.text === 'string'
    ? value.text
    : undefined;

/** Only a plain ARN can be checked: an expression is known when it runs. */
const isPlainArn = (arn: string): boolean => /^arn:[\w:.-]+$/.test(arn);

function topicProblems({ topicType, ...settings }: SnsSettings): SettingProblem[] {
  const topicArn = writtenText(settings.topicArn);
  if (topicArn === '')
    return [{ path: ['topicArn'], message: "must not be '' with destinationType 'topic'" }];
  const isFifo = topicType === 'fifo';
  const problems: SettingProblem[] = [];
  if (topicArn !== undefined && isPlainArn(topicArn) && topicArn.endsWith('.fifo') !== isFifo)
    problems.push({
      path: ['topicType'],
      message: isFifo
        ? "is fifo, but the topic's ARN does not end with .fifo; set topicType to 'standard'"
        : "is standard, but the topic's ARN ends with .fifo; set topicType to 'fifo'",
    });
  if (isFifo && writtenText(settings.messageGroupId) === '')
    problems.push({ path: ['messageGroupId'], message: "must not be '' with topicType 'fifo'" });
  return problems;
}

function phoneProblems({ phoneNumber, allowList }: SnsSettings): SettingProblem[] {
  if (typeof phoneNumber !== 'string' || !Array.isArray(allowList) || allowList.length === 0) return [];
  const refused = splitNumbers(phoneNumber).find(
    number => !allowList.some(pattern => matchesPattern(pattern, number)),
  );
  return refused === undefined
    ? []
    : [
        {
          path: ['phoneNumber'],
          message: `${refused} is not in allowList; add it or a pattern that fits it`,
        },
      ];
}

/** True when a phone number matches an entry of `allowList`. */
export const matchesPattern = (pattern: string, number: string): boolean =>
  PHONE_PATTERN.test(pattern) &&
  new RegExp(`^${pattern.replace(/[^\d*]/g, '\\$&').replace(/\*+/g, '\\d*')}$`).test(number);

function keyProblems(settings: SnsSettings): SettingProblem[] {
  const { awsAuthenticationMethod: method, awsSecret, enableAssumeRole, assumeRoleArn } = settings;
  const problems: SettingProblem[] = [];
  if (method === 'secret' && awsSecret === undefined)
    problems.push({ path: ['awsSecret'], message: "is required with awsAuthenticationMethod 'secret'" });
  if (method !== 'secret' && awsSecret !== undefined)
    problems.push({
      path: ['awsSecret'],
      message: `is not used with awsAuthenticationMethod '${method}'; remove it or set that to 'secret'`,
    });
  for (const name of ['awsApiKey', 'awsSecretKey'] as const)
    if (method !== 'manual' && settings[name] !== undefined)
      problems.push({
        path: [name],
        message: `is not used with awsAuthenticationMethod '${method}'; remove it or set that to 'manual'`,
      });
  if ((settings.awsApiKey === undefined) !== (settings.awsSecretKey === undefined))
    problems.push({
      path: [settings.awsApiKey === undefined ? 'awsApiKey' : 'awsSecretKey'],
      message: 'is required beside the other key',
    });
  if (enableAssumeRole && assumeRoleArn === undefined)
    problems.push({ path: ['assumeRoleArn'], message: 'is required with enableAssumeRole' });
  return problems;
}

/** Raised when a pair of keys is not available, with a remedy; nothing was sent. */
export class CredentialsMissing extends Error {}

/** Raised when STS did not let the role be taken on; nothing was sent. `cause` is what it answered, or the failure. */
export class RoleRefused extends Error {
  constructor(cause: unknown) {
    super('the role was not taken on', { cause });
  }
}

interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface SnsAccess {
  readonly settings: SnsSettings;
  readonly http: HttpClient;
  readonly secretOf: (name: string) => string | undefined;
  /** The keys, profile and variables of the process are used only where it is the sender. */
  readonly sender?: Sender | undefined;
}

/** The id goes out with every request, so a text of another form may be another secret. */
const PAIR = /^([A-Z0-9]{16,128}):([\x21-\x7e]{1,512})$/;

/**
 * Found without own keys: the library finds those of the process: environment, profile, web identity, the machine's
 * role.
 */
export function usesProcessIdentity({
  awsApiKey,
  awsAuthenticationMethod: method,
}: SnsSettings): ProcessUse | undefined {
  if (method === 'auto')
    return {
      path: ['awsAuthenticationMethod'],
      message: `is 'auto', for which there are no keys here; ${OWN_KEYS}`,
    };
  if (method === 'manual' && awsApiKey === undefined)
    return { path: ['awsApiKey'], message: `is required, as there are no other keys here; ${OWN_KEYS}` };
  return undefined;
}

const OWN_KEYS =
  "set awsAuthenticationMethod to 'manual' and give awsApiKey and awsSecretKey, or to 'secret' and name a stored pair in awsSecret";

/** Undefined when the library is to find them. */
export function configuredKeys({
  settings,
  secretOf,
}: Pick<SnsAccess, 'secretOf' | 'settings'>): Keys | undefined {
  const { awsApiKey, awsSecretKey, awsAuthenticationMethod: method, awsSecret: name } = settings;
  if (method === 'manual' && awsApiKey !== undefined && awsSecretKey !== undefined)
    return { accessKeyId: awsApiKey.reveal(), secretAccessKey: awsSecretKey.reveal() };
  if (method !== 'secret' || name === undefined) return undefined;
  const [, accessKeyId, secretAccessKey] = PAIR.exec(secretOf(name)?.trim() ?? '') ?? [];
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new CredentialsMissing(
      `the secret '${name}' must hold ACCESS_KEY_ID:SECRET_ACCESS_KEY; store it as that`,
    );
  return { accessKeyId, secretAccessKey };
}
