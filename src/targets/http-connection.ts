import * as z from 'zod';
import type { HttpRequest } from '../lib/http/client.ts';
import type { ForwardProxy } from '../lib/http/proxy.ts';
import { httpUrl, secretText } from '../lib/schemas.ts';
import { stepLimit } from './step-limit.ts';
import { clientTlsOf, tlsSettings } from './tls-settings.ts';

const seconds = (byDefault: number) => stepLimit({ byDefault, most: 600 });

/** A colon would end the name (RFC 7617 section 2). */
const proxyUsername = z
  .string()
  .regex(/^[^\p{Cc}:]{1,255}$/u, 'must not be empty and must hold neither ":" nor line breaks');
const proxyPassword = secretText.refine(secret => !/\p{Cc}/u.test(secret.reveal()), {
  error: 'must hold neither line breaks nor other control characters',
});

/** How a target that speaks HTTP reaches its receiver, to be spread into its schema. */
export const connectionSettings = {
  timeouts: z
    .strictObject({
      connect: seconds(10).describe('Looking the name up and connecting, TLS included.'),
      write: seconds(30).describe('Writing the request.'),
      firstByte: seconds(30).describe('Waiting for the first byte of the answer.'),
      body: seconds(30).describe('Reading the answer.'),
    })
    .optional()
    .describe(
      'Time limits of the steps of a request in seconds, or as durations such as `30s`. A request as a whole has 30 seconds; where this is set, as long as its steps together.',
    ),
  tls: tlsSettings.optional().describe('How TLS is spoken with the receiver.').meta({ protection: true }),
  proxyUrl: httpUrl
    .optional()
    .describe(
      'Address of a proxy that requests go through, such as `http://proxy.example:3128`; it is judged as receivers are. Without it the proxy of the environment is used, where there is one.',
    )
    .meta({ destination: true }),
  proxyUsername: proxyUsername.optional().describe('User name for the proxy.').meta({ protection: true }),
  proxyPassword: proxyPassword.optional().describe('Password for the proxy.'),
} as const;

export interface ConnectionSettings extends z.output<z.ZodObject<typeof connectionSettings>> {
  /** The limit of a whole request, where a type has that. */
  readonly timeoutSec?: number | undefined;
}

type Timeouts = NonNullable<ConnectionSettings['timeouts']>;

const DEFAULTS: Timeouts = { connect: 10, write: 30, firstByte: 30, body: 30 };
const WHOLE_MS = 30_000;

/** The longest that a request may take, in ms. */
export function requestPatienceMs({
  timeouts,
  timeoutSec,
}: Pick<ConnectionSettings, 'timeouts' | 'timeoutSec'>): number {
  if (timeoutSec !== undefined) return timeoutSec * 1000;
  if (timeouts === undefined) return WHOLE_MS;
  return Object.values(timeouts).reduce((sum, one) => sum + one, 0) * 1000;
}

/** What of a request the settings decide. */
export function connectionOf(
  settings: ConnectionSettings,
): Pick<HttpRequest, 'timeoutMs' | 'timeouts' | 'tls' | 'proxied' | 'proxy'> {
  const { connect, write, firstByte, body } = settings.timeouts ?? DEFAULTS;
  const proxy = proxyOf(settings);
  return {
    timeoutMs: requestPatienceMs(settings),
    timeouts: {
      connect: connect * 1000,
      write: write * 1000,
      firstByte: firstByte * 1000,
      body: body * 1000,
    },
    proxied: true,
    ...(settings.tls && { tls: clientTlsOf(settings.tls) }),
    ...(proxy && { proxy }),
  };
}

function proxyOf({
  proxyUrl,
  proxyUsername: name,
  proxyPassword: password,
}: ConnectionSettings): ForwardProxy | undefined {
  if (proxyUrl === undefined) return undefined;
  const pair = `${name ?? ''}:${password?.reveal() ?? ''}`;
  return {
    origin: new URL(proxyUrl).origin,
    authorization: pair === ':' ? undefined : `Basic ${Buffer.from(pair).toString('base64')}`,
    isOfTarget: true,
  };
}

/** Texts that no answer of a proxy shows. */
export const connectionSecrets = (settings: ConnectionSettings): readonly string[] => {
  const { authorization } = proxyOf(settings) ?? {};
  return authorization === undefined ? [] : [authorization.replace(/^Basic /, '')];
};
