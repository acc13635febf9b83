import * as z from 'zod';
import { reasonOf } from '../lib/errors.ts';
import { HttpFailure } from '../lib/http.ts';
import { CERTIFICATE_WAITS, readable } from './http-outcome.ts';
import type { Outcome } from './outcome.ts';
import { KeysMissing, ownKeys, type SnsAccess } from './sns-keys.ts';

/** What is read of the library's errors. */
const failure = z.object({
  name: z.string().catch(''),
  $metadata: z.object({ httpStatusCode: z.number().optional() }).optional().catch(undefined),
});

const PASSING =
  /^(Throttl|TooManyRequests|RequestLimitExceeded|KMSThrottling|InternalError|InternalFailure|ServiceUnavailable|RequestTimeout)/;
const EXPIRED = /^(ExpiredToken|RequestExpired|TokenRefreshRequired)/;
/** About one message or one phone, as documented for Publish. */
const ABOUT_THE_MESSAGE =
  /^(InvalidParameter|ParameterValueInvalid|OptedOut|ValidationException|InvalidMessage|MessageRejected)/;
const NO_KEYS = /^(CredentialsProviderError|TokenProviderError)$/;

const REMEDIES: readonly (readonly [name: RegExp, remedy: string])[] = [
  [/^(AuthorizationError|AccessDenied)/, 'the keys may not publish there; grant sns:Publish'],
  [
    /^(InvalidClientTokenId|SignatureDoesNotMatch|UnrecognizedClient|InvalidAccessKeyId|InvalidSecurity)/,
    'check the keys',
  ],
  [/^NotFound/, 'check topicArn and region'],
];

/** Keys that were held longer than they last: new ones are got, and it is tried again at once. */
export const isExpired = (error: unknown): boolean => EXPIRED.test(failure.safeParse(error).data?.name ?? '');

/** What it means that a message was not taken. */
export function outcomeOfSnsFailure(
  error: unknown,
  access: Pick<SnsAccess, 'secretOf' | 'settings'>,
): Outcome {
  if (error instanceof KeysMissing) return { kind: 'refused', reason: error.message };
  if (error instanceof HttpFailure) return outcomeOfConnection(error);
  const { name = '', $metadata } = failure.safeParse(error).data ?? {};
  const status = $metadata?.httpStatusCode;
  const answer = shown(`${name}: ${reasonOf(error)}`, access);
  if (NO_KEYS.test(name))
    return {
      kind: 'retry',
      reason: `no keys for AWS: ${answer}`,
      waits: CERTIFICATE_WAITS,
      isTargetBroken: true,
    };
  const remedy = REMEDIES.find(([pattern]) => pattern.test(name))?.[1];
  const reason = `SNS answered ${answer}${remedy === undefined ? '' : `; ${remedy}`}`;
  const facts = { reason, answer, ...(status !== undefined && { httpStatus: status }) };
  if (/^(Throttl|TooMany|RequestLimit|KMSThrottling)/.test(name) || status === 429)
    return { kind: 'retry', ...facts, pauseTarget: true };
  const passes = status === undefined || status >= 500 || status === 408;
  if (passes || PASSING.test(name) || isExpired(error)) return { kind: 'retry', ...facts };
  return { kind: 'refused', ...facts, ...(ABOUT_THE_MESSAGE.test(name) && { isAboutMessage: true }) };
}

function outcomeOfConnection({ message: reason, reason: kind }: HttpFailure): Outcome {
  if (kind === 'forbidden-address') return { kind: 'refused', reason };
  return kind === 'tls'
    ? { kind: 'retry', reason, waits: CERTIFICATE_WAITS, isTargetBroken: true }
    : { kind: 'retry', reason };
}

function shown(text: string, access: Pick<SnsAccess, 'secretOf' | 'settings'>): string {
  const secret = ownKeys(access)?.secretAccessKey;
  return readable(Buffer.from(text), secret === undefined ? [] : [secret])
    .replace(/\s+/g, ' ')
    .slice(0, 500);
}
