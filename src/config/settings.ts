import { isIP } from 'node:net';
import * as z from 'zod';
import { authSchema } from '../auth/settings.ts';
import { MAX_TOKEN_TTL_SECONDS } from '../auth/tokens/keys.ts';
import { parseRange } from '../lib/addresses.ts';
import type { Problem } from '../lib/errors.ts';
import { rate } from '../lib/rate.ts';
import { duration, httpUrl, identifier, proxyUrl, secretText, secretUrl, storeUrl } from '../lib/schemas.ts';
import { pipelineSchema } from '../pipelines/settings.ts';
import { type ConfigProblem, formatPath } from './problems.ts';
import { quotasSchema } from './quotas.ts';
import type { ValueOrigin } from './schema-problems.ts';
import { valueAt } from './schema-walk.ts';
import type { Path } from './yaml/places.ts';

/** Headers that the server itself or the connection sets (RFC 9110 section 7.6.1, RFC 9112). */
const SERVER_HEADERS = [
  'allow',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-security-policy',
  'content-type',
  'date',
  'etag',
  'keep-alive',
  'location',
  'proxy-authenticate',
  'referrer-policy',
  'retry-after',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'www-authenticate',
  'x-content-type-options',
  'x-request-id',
];
const MOST_HEADERS = 64;
const MOST_CHARACTERS = 4096;

/** A token of RFC 9110 section 5.6.2. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,256}$/;
/** RFC 9110 section 5.5, in ASCII: no line breaks and no other control characters, and none of its spaces at an end. */
const HEADER_VALUE = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/;

/** Headers by name that every answer carries beside those of the server. */
const responseHeaders = z.record(z.string(), z.string()).superRefine((headers, context) => {
  const say = (path: string[], message: string): void => context.addIssue({ code: 'custom', path, message });
  const names = Object.keys(headers);
  if (names.length > MOST_HEADERS) say([], `must have at most ${MOST_HEADERS} headers`);
  const seen = new Map<string, string>();
  for (const name of names) {
    const first = seen.get(name.toLowerCase());
    seen.set(name.toLowerCase(), name);
    if (!HEADER_NAME.test(name)) say([name], 'must have the name of a header: letters, digits and "-"');
    else if (SERVER_HEADERS.includes(name.toLowerCase()))
      say([name], `cannot be set, as the server itself sets '${name}'`);
    else if (first !== undefined) say([name], `must be given once; '${first}' is the same header`);
    else if (!HEADER_VALUE.test(headers[name] ?? '') || (headers[name] ?? '').length > MOST_CHARACTERS)
      say(
        [name],
        `must be at most ${MOST_CHARACTERS} characters of ASCII, without line breaks and spaces around`,
      );
  }
});

const filePath = z.string().min(1).max(4096).meta({ file: true });
const tlsVersion = z.enum(['TLSv1.2', 'TLSv1.3']);

/** `api.tls`: with it the API speaks https, without it http. */
export const tlsSchema = z
  .strictObject({
    certPath: filePath.describe(
      'File of the certificate in PEM form, then of those between it and the root. Relative to the folder of the configuration.',
    ),
    privKeyPath: filePath.describe('File of its private key in PEM form.'),
    passphrase: secretText.optional().describe('What the private key is encrypted with.'),
    caPath: filePath
      .optional()
      .describe('File of the certificates in PEM form that sign those of clients, for `requestCert`.'),
    minVersion: tlsVersion.default('TLSv1.2').describe('The oldest version of TLS that is spoken.'),
    maxVersion: tlsVersion.default('TLSv1.3').describe('The newest version of TLS that is spoken.'),
    requestCert: z
      .boolean()
      .default(false)
      .describe('Whether every client must show a certificate that `caPath` has signed. Needs a restart.'),
  })
  .superRefine(({ minVersion, maxVersion, requestCert, caPath }, context) => {
    if (minVersion > maxVersion)
      context.addIssue({
        code: 'custom',
        path: ['minVersion'],
        message: 'must not be newer than maxVersion',
      });
    if (requestCert && caPath === undefined)
      context.addIssue({
        code: 'custom',
        path: ['requestCert'],
        message: "needs 'caPath', the certificates that sign those of clients",
      });
  });

export type ApiTlsSettings = z.infer<typeof tlsSchema>;

/** Names with dots between them, as a host has them; `localhost` for trials. */
const DOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;

/** `hosted`: with it the installation has many workspaces, and a login service issues the tokens. */
export const hostedSchema = z.strictObject({
  cloudDomain: z
    .string()
    .max(189, 'must be at most 189 characters')
    .regex(DOMAIN, 'must be a domain such as cloud.example')
    .describe(
      'The domain below which workspaces are reached, as `https://<workspace>-<organization>.<cloudDomain>`. Needs a restart.',
    ),
  authUrl: httpUrl
    .refine(url => !/[/?#]$/.test(url) && !/[?#]/.test(url), 'must not end in / and must hold no query')
    .describe(
      'Where the login service is reached. It issues every token in this name, so a change ends all of them. Needs a restart.',
    ),
  audience: z
    .array(z.string().regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 printable characters without spaces'))
    .min(1)
    .max(100)
    .describe(
      'What programs may name as audience when they ask for a token; the API takes tokens of any of these. Needs a restart.',
    ),
  egressProxy: proxyUrl
    .optional()
    .describe(
      'The forward proxy, http or https, that everything workspaces send or read goes through. It gets `CONNECT` with addresses that were looked up and judged here, never with names. Best written as `${env:NAME}`. Without it workspaces connect directly; HTTPS_PROXY is not theirs. Needs a restart.',
    ),
  quotas: quotasSchema.prefault({}).describe('How much of each a workspace may have. Needs a restart.'),
  tokenRateLimit: z
    .strictObject({
      perSecond: z
        .int()
        .min(0)
        .max(1_000_000)
        .default(5)
        .describe('Token requests a second that go on being answered; 0 switches the limit off.'),
      burst: z
        .int()
        .min(1)
        .max(1_000_000)
        .default(20)
        .describe('Token requests that are answered at once after a pause.'),
    })
    .prefault({})
    .describe(
      'Limits of token requests for each client id. Wrong secrets are slowed down by api.loginBackOff besides, for each client id and address: nobody can hold up a client of others elsewhere.',
    ),
});
export type HostedSettings = z.output<typeof hostedSchema>;

const addressRange = z
  .string()
  .refine(text => parseRange(text) !== undefined, 'must be an address or a range such as 10.0.0.0/8');

/** A proxy says who others are, so its range must not hold every address. */
const proxyRange = addressRange.refine(
  text => !text.endsWith('/0'),
  'must not hold every address: anybody could then say who they are',
);

/** A name, or with `*.` all names below it; services of containers have `_` in theirs, too. */
const ALLOWED_HOST = /^(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/i;
const allowedHost = z
  .string()
  .max(255)
  .regex(
    ALLOWED_HOST,
    'must be a host name such as headgate.example.com, or *.example.com for all names below, without scheme and port',
  );

/** What it stands for is found out when the server listens; an address has no scheme, port or brackets. */
const listenHost = z
  .string()
  .min(1)
  .max(255)
  .refine(
    text => text === '' || isIP(text) !== 0 || (ALLOWED_HOST.test(text) && !text.startsWith('*')),
    'must be an address such as 127.0.0.1 or ::, or a host name, without scheme and port',
  );

const instance = z.strictObject({
  name: z.string().min(1).max(255).default('headgate').describe('How this instance is called in events.'),
  externalUrl: httpUrl
    .optional()
    .describe('Where people reach this server; links in messages begin with it.'),
  heartbeatUrl: secretUrl
    .optional()
    .describe(
      'Asked every 30 seconds while notifications are evaluated and deliveries move, so that another service notices when they do not.',
    ),
  nodeUrl: httpUrl
    .optional()
    .describe(
      'Where other processes on the same PostgreSQL reach this one; without it the address it listens on. Needs a restart.',
    ),
});

const api = z.strictObject({
  host: listenHost.default('127.0.0.1').describe('Address to listen on. Needs a restart.'),
  port: z
    .int()
    .min(0)
    .max(65_535)
    .default(9000)
    .describe('Port to listen on, 0 for any free one. Needs a restart.'),
  authTokenTTL: z
    .int()
    .min(1)
    .max(MAX_TOKEN_TTL_SECONDS)
    .default(3600)
    .describe('Lifetime of new tokens in seconds.'),
  idleSessionTTL: z
    .int()
    .min(60)
    .max(43_200)
    .default(3600)
    .describe('Seconds after which a browser that nobody uses is signed out; 12 hours at most, used or not.'),
  loginRateLimit: rate
    .prefault('2/second')
    .describe(
      'Failed logins and sign-ins that are answered before others have to wait: N/second, minute, hour or day.',
    ),
  loginBackOff: z
    .strictObject({
      after: z
        .int()
        .min(0)
        .max(1000)
        .default(5)
        .describe(
          'Failed logins under one name from one address after which each further one brings a wait, 1s at first and twice as long each time; from several addresses, four times as many. 0 for never.',
        ),
      longest: duration({ min: '1s', max: '30m' }).prefault('1m').describe('The longest of these waits.'),
    })
    .prefault({})
    .describe(
      'How guesses at one password are slowed down. A right password from the address ends it there, an hour without a failure everywhere; a person who logged in from an address within a day is not held up by failures elsewhere.',
    ),
  rateLimit: z
    .strictObject({
      perSecond: z
        .int()
        .min(0)
        .max(1_000_000)
        .default(50)
        .describe('Requests a second that go on being answered; 0 switches the limit off.'),
      burst: z
        .int()
        .min(1)
        .max(1_000_000)
        .default(200)
        .describe('Requests that are answered at once after a pause.'),
    })
    .prefault({})
    .describe(
      'Limits of requests for each user, over all tokens of theirs, and for each address of those without a valid token. Logins have their own limits; what engines push with a good token has none.',
    ),
  tls: tlsSchema
    .optional()
    .describe(
      'The certificate the API speaks https with; without it, it speaks http. To set or remove it needs a restart.',
    ),
  trustedProxies: z
    .array(proxyRange)
    .max(1000)
    .default([])
    .describe(
      'Addresses and ranges of the proxies in front, whose X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host count; nobody else is believed.',
    ),
  allowedHosts: z
    .array(allowedHost)
    .max(1000)
    .default([])
    .describe(
      'Further names that this server is reached by, such as `headgate.monitoring.svc`, or `*.example.com` for all below. Addresses, localhost, the name of the machine, and the hosts of `api.host`, `instance.externalUrl`, `instance.nodeUrl` and of `hosted` count without; a request for any other is answered 421.',
    ),
  requestTimeout: duration({ min: '1s', max: '10m' })
    .prefault('30s')
    .describe(
      'How long a request may take to arrive, headers and body; then it is answered 408 and the connection ends. Headers alone have 10s at most. Needs a restart.',
    ),
  headers: responseHeaders
    .default({})
    .describe(
      'Headers that every answer carries, such as Strict-Transport-Security, beside those of the server.',
    ),
});

const storage = z.strictObject({
  url: storeUrl
    .prefault('sqlite:headgate.db')
    .describe(
      'The store: `sqlite:` and a file below the data folder, or a PostgreSQL database of its own as ' +
        '`postgres://user:password@host:5432/headgate`, best written as `${env:DATABASE_URL}`. Needs a restart.',
    ),
  keyRing: z
    .string()
    .min(1)
    .default('keys')
    .describe('File of the keys that encrypt secrets, relative to the data folder. Needs a restart.'),
});

const RETRY_SCHEDULE = ['0s', '5s', '30s', '2m', '5m', '15m', '30m', '1h', '2h', '4h', '8h'];

const delivery = z.strictObject({
  privateAddresses: z
    .enum(['allow', 'refuse'])
    .default('allow')
    .describe('Whether targets and pipelines may be at addresses that are not public.'),
  allowedAddresses: z
    .array(addressRange)
    .default([])
    .describe('Addresses and ranges that stay open when privateAddresses is refuse.'),
  retrySchedule: z
    .array(duration())
    .min(1)
    .max(100)
    .prefault(RETRY_SCHEDULE)
    .describe('Waits before each attempt of a delivery; after the last it is given up.'),
  concurrency: z
    .int()
    .min(1)
    .max(4096)
    .default(256)
    .describe('Requests under way at once over all targets, beside one that each target always has.'),
  mostWaiting: z
    .int()
    .min(1)
    .max(5000)
    .default(1000)
    .describe(
      'Deliveries that may wait for a target with onBackpressure drop; alarms beyond that are skipped.',
    ),
  operationalTarget: identifier
    .optional()
    .describe(
      'Id of the target that is notified when another target fails, gives up a delivery, and recovers.',
    ),
});

const age = duration({ min: '1d', max: '400d' });

const retention = z.strictObject({
  deliveries: age
    .prefault('30d')
    .describe(
      'How long deliveries that are settled stay, with their attempts and events: long enough to look into what a ' +
        'receiver says it never got. What waits and what an open incident needs stays.',
    ),
  incidents: age
    .prefault('400d')
    .describe(
      'How long closed incidents stay, and no shorter than their deliveries: a year and a month, so that one season ' +
        'can be compared with the last.',
    ),
  versions: age
    .prefault('400d')
    .describe(
      'How long versions of the configuration stay: as long as an audit looks back. The 20 newest stay however old ' +
        'they are. Secrets they refer to are never removed.',
    ),
  messages: age
    .prefault('90d')
    .describe('How long messages of the bulletin stay; those of open incidents stay until these close.'),
  audit: age.prefault('400d').describe('How long is kept who did what.'),
  minutes: age
    .prefault('8d')
    .describe(
      'How long is kept what inputs and outputs did minute by minute: a week, and the day it is compared with.',
    ),
  hours: age
    .prefault('400d')
    .describe(
      'How long is kept what inputs and outputs did hour by hour: a year and a month, so that one season can be compared ' +
        'with the last.',
    ),
});

const history = z.strictObject({
  components: z
    .int()
    .min(0)
    .max(100_000)
    .default(10_000)
    .describe(
      'With more inputs and outputs than this, nothing is recorded minute by minute; 0 for never. One takes about 200 KB ' +
        'in 8 days, and its hours at most 150 KB in 400 days.',
    ),
});

const metrics = z.strictObject({
  token: secretText
    .refine(secret => secret.reveal().length >= 8, 'must be at least 8 characters')
    .optional()
    .describe(
      'What /metrics asks for as Authorization: Bearer; without it only this machine may read them, and in a hosted ' +
        'installation nobody.',
    ),
});

/** headgate.yml: every key has a default, so that an empty file is a whole configuration. */
export const settingsSchema = z.strictObject({
  instance: instance.prefault({}).describe('This installation.'),
  api: api.prefault({}).describe('The management API.'),
  auth: authSchema.prefault({}).describe('How people sign in.'),
  storage: storage.prefault({}).describe('Where state is kept.'),
  pipelines: z.array(pipelineSchema).default([]).describe('The pipelines to read.'),
  delivery: delivery.prefault({}).describe('How messages are delivered.'),
  retention: retention.prefault({}).describe('How long is kept what is over; looked at every 10 minutes.'),
  history: history.prefault({}).describe('What inputs and outputs did, minute by minute, for charts.'),
  hosted: hostedSchema
    .optional()
    .describe(
      'Many workspaces in one installation, with a login service; without it there is one workspace.',
    ),
  metrics: metrics.prefault({}).describe('Metrics of Headgate itself.'),
});

export type Settings = z.infer<typeof settingsSchema>;

/** Settings that are read when the process starts and never after. */
const AT_START = [
  ['instance', 'nodeUrl'],
  ['api', 'host'],
  ['api', 'port'],
  ['api', 'requestTimeout'],
  ['storage', 'url'],
  ['storage', 'keyRing'],
  ['delivery', 'privateAddresses'],
  ['delivery', 'allowedAddresses'],
  ['hosted', 'cloudDomain'],
  ['hosted', 'authUrl'],
  ['hosted', 'audience'],
  ['hosted', 'egressProxy'],
  ['hosted', 'quotas'],
  ['hosted', 'tokenRateLimit'],
];

/** Settings that wait for a restart. */
export interface Restarts {
  /** For the status: by their places in the files. */
  readonly warnings: readonly ConfigProblem[];
  /** For who changes settings: by their paths. */
  readonly notes: readonly Problem[];
}

/** A server is made for https or for http, and to ask for certificates or not. */
function tlsRestart(now: ApiTlsSettings | undefined, atStart: ApiTlsSettings | undefined) {
  const restart = (path: Path, until: string) => [
    { path, message: `takes effect after a restart; until then ${until}` },
  ];
  if (now === undefined && atStart === undefined) return [];
  if (now === undefined) return restart(['api', 'tls'], 'https is spoken');
  if (atStart === undefined) return restart(['api', 'tls'], 'http is spoken');
  return now.requestCert === atStart.requestCert
    ? []
    : restart(['api', 'tls', 'requestCert'], `it is ${atStart.requestCert}`);
}

/** Settings that differ from those the process started with. */
export function findRestarts(now: Settings, atStart: Settings, origin: ValueOrigin): Restarts {
  const differing = AT_START.flatMap(path => {
    const before = JSON.stringify(valueAt(atStart, path));
    if (JSON.stringify(valueAt(now, path)) === before) return [];
    return [{ path, message: `takes effect after a restart; until then it is ${before ?? 'not set'}` }];
  });
  const found = [...differing, ...tlsRestart(now.api.tls, atStart.api.tls)];
  return {
    warnings: found.map(({ path, message }) => ({ ...origin.place(path), message })),
    notes: found.map(({ path, message }) => ({ path: formatPath(path), message })),
  };
}
