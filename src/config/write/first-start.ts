import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Condition, conditions } from '../../conditions/index.ts';
import { httpUrlProblem } from '../../lib/schemas.ts';
import { type FileName, NOTIFICATIONS_FILE, SETTINGS_FILE } from '../configuration.ts';
import { type ProcessEnvironment, readOverrides, type SettingFlags } from '../overrides.ts';
import { settingsSchema } from '../settings.ts';

const SETTINGS = `# Headgate's own settings. Every key is optional; what stands here are examples and defaults.
# A change is taken up at once where a restart is not mentioned. "headgate check" shows what is wrong.

# instance:
#   name: headgate                             # cribl_host of the events
#   externalUrl: https://headgate.example.com  # links in messages begin with it
#   heartbeatUrl: \${env:HEARTBEAT_URL}         # asked every 30s while all is well; so that a service elsewhere can alert when it is not

# api:
#   host: 127.0.0.1            # needs a restart
#   port: 9000                 # needs a restart
#   authTokenTTL: 3600         # seconds, for new tokens
#   idleSessionTTL: 3600       # seconds, for browsers that nobody uses
#   loginRateLimit: 2/second   # failed logins; N/second, minute, hour or day
#   tls: { certPath: tls/server.pem, privKeyPath: tls/server.key }   # https in place of http
#   trustedProxies: [10.0.0.1]  # whose X-Forwarded-For is believed
#   headers: { Strict-Transport-Security: max-age=63072000 }   # on every answer

# auth:                        # single sign-on, beside passwords; needs instance.externalUrl
#   type: openid
#   openid:
#     name: Example Corp
#     issuer: https://login.example.com/realms/staff
#     client_id: headgate
#     client_secret: \${env:SSO_SECRET}
#     scope: openid profile email groups
#     groups: { default: user, mapping: { platform: [admin] } }

# storage:                     # below the data folder; needs a restart
#   url: sqlite:headgate.db
#   keyRing: keys

# The pipelines whose inputs and outputs are watched. A secret is written as \${env:NAME}, \${file:/path} or
# \${secret:NAME}.
# pipelines:
#   - id: edge
#     engine: vector           # vector, otelcol, fluent-bit, prometheus or custom: read from url
#     url: http://127.0.0.1:9598/metrics
#     interval: 10s
#   - id: syslog
#     engine: rsyslog          # pushes to /ingest/impstats
#     push: true
#     token: \${env:SYSLOG_TOKEN}

# delivery:
#   privateAddresses: allow    # or refuse; needs a restart
#   allowedAddresses: []       # open although private ones are refused; needs a restart
#   retrySchedule: [0s, 5s, 30s, 2m, 5m, 15m, 30m, 1h, 2h, 4h, 8h]

# metrics:
#   token: \${env:METRICS_TOKEN}   # for /metrics from other machines; without it only this one may read
`;

const notifications =
  (): string => `# Who is notified, and about what. Changes are taken up at once; a file with errors changes nothing.

# targets:
#   - id: ops_hook
#     type: webhook
#     url: https://hooks.example.com/ops
#     authType: token
#     token: \${env:OPS_HOOK_TOKEN}
#   - id: bell
#     type: bulletin_message

# notifications:
#   - id: app_silent
#     condition: no-data
#     targets: [ops_hook, bell]
#     conf:
#       name: 'syslog:app'     # type:id, an id, or a pattern with *
#       timeWindow: 60s

${examples()}`;

/** One heading for each kind of subject, in this order. */
const HEADINGS: Readonly<Record<Condition['kind'], string>> = {
  input: 'One of every condition on inputs:',
  output: 'on outputs:',
  either: 'on both:',
  pipeline: 'on pipelines, and on what expires:',
  certificate: 'on pipelines, and on what expires:',
  credential: 'on pipelines, and on what expires:',
  key: 'and on events from outside, to /ingest/events:',
};

/** The first condition is shown in full above them. */
const [, ...others] = conditions;

const examples = (): string =>
  [...new Set(Object.values(HEADINGS))]
    .flatMap(heading => [
      `# ${heading}`,
      ...others.filter(({ kind }) => HEADINGS[kind] === heading).map(exampleLine),
    ])
    .map(line => `${line}\n`)
    .join('');

function exampleLine({ id: condition, example: { id, conf } }: Condition): string {
  const settings = Object.entries(conf ?? {}).map(([key, value]) => `${key}: ${flowScalar(value)}`);
  const shown = settings.length === 0 ? '' : `, conf: { ${settings.join(', ')} }`;
  return `#   - { id: ${id}, condition: ${condition}, targets: [bell]${shown} }`;
}

const flowScalar = (value: string | number): string =>
  typeof value === 'number' || /^\w[\w ]*$/.test(value) ? String(value) : `'${value}'`;

/** What sets settings while there is no file. */
interface OtherSources {
  readonly environment: ProcessEnvironment;
  readonly flags: SettingFlags;
}

/**
 * Writes the configuration files that are missing, holding comments only, the first of which names the schema of the file
 * to editors. Where that is not possible, as in a folder that may only be read, nothing happens: a missing file counts as
 * empty.
 */
export async function writeFirstFiles(folder: string, sources: OtherSources): Promise<void> {
  const server = serverUrl(sources);
  try {
    await mkdir(folder, { recursive: true });
    await writeNew(join(folder, SETTINGS_FILE), schemaLine(server, SETTINGS_FILE) + SETTINGS);
    await writeNew(
      join(folder, NOTIFICATIONS_FILE),
      schemaLine(server, NOTIFICATIONS_FILE) + notifications(),
    );
  } catch {
    // Loading says what it cannot read.
  }
}

const schemaLine = (server: string, file: FileName): string =>
  `# yaml-language-server: $schema=${server}/schemas/${file.replace(/\.yml$/, '.json')}\n`;

/** Where people reach the server, as far as that is known without a file. A port of 0 is known when it listens. */
function serverUrl({ environment, flags }: OtherSources): string {
  const overrides = readOverrides(settingsSchema, environment, flags);
  const settingAt = (path: string) => overrides.find(one => one.path.join('.') === path)?.value;
  const known = settingAt('instance.externalUrl');
  if (typeof known === 'string' && httpUrlProblem(known) === undefined) return known.replace(/\/+$/, '');
  const port = settingAt('api.port');
  return `http://localhost:${typeof port === 'number' && port !== 0 ? port : DEFAULT_PORT}`;
}

const DEFAULT_PORT = settingsSchema.parse({}).api.port;

async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx' });
  } catch {
    // There already, or not ours to write.
  }
}
