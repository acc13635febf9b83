import { Readable } from 'node:stream';
import { PublishCommand, type PublishCommandInput, SNSClient } from '@aws-sdk/client-sns';
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { VERSION } from '../../lib/version.ts';
import { connectionOf } from '../http-connection.ts';
import { isUnanswered } from '../http-target.ts';
import { CredentialsMissing, configuredKeys, RoleRefused, type SnsAccess } from './settings.ts';

interface PublishOptions {
  readonly signal: AbortSignal;
  /** Called when a request for it was written and not answered: the message may have arrived, whatever comes later. */
  readonly onUnanswered: () => void;
}

/** Publishes with keys that it gets once and renews in time. */
export interface Publisher {
  /** Rejects with the library's error, a `HttpFailure`, or `KeysMissing`. */
  publish(input: PublishCommandInput, options: PublishOptions): Promise<void>;
}

/** Loaded at the first message of such a target: its libraries are large. */
export function createPublisher(access: SnsAccess): Publisher {
  // The library would warn on stderr, where the log is, of a Node version it will require later; its version is ours to
  // choose.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  const { settings } = access;
  const reporters: Reporters = new WeakMap();
  const client = new SNSClient({
    ...commonOptions(access, reporters),
    ...(settings.endpoint !== undefined && { endpoint: settings.endpoint }),
    maxAttempts: 1 + (settings.maxRetries ?? 0),
    ...credentialsOf(access),
  });
  return {
    async publish(input, { signal: abortSignal, onUnanswered }) {
      reporters.set(abortSignal, onUnanswered);
      await client.send(new PublishCommand(input), { abortSignal });
    },
  };
}

/** By the signal of the message, as the library hands nothing else through. */
type Reporters = WeakMap<AbortSignal, () => void>;

const MAX_ANSWER_BYTES = 64 * 1024;

/** Requests use the one HTTP client, so that their addresses are checked as all others are. */
const commonOptions = ({ settings, http, sender }: SnsAccess, reporters?: Reporters) => ({
  ...(sender?.isProcess !== true && WITHOUT_PROCESS),
  region: settings.region,
  requestHandler: {
    async handle(request: SdkRequest, { abortSignal }: { readonly abortSignal?: unknown } = {}) {
      const signal = abortSignal instanceof AbortSignal ? abortSignal : undefined;
      const sent = http.request({
        url: urlOf(request),
        method: 'POST',
        headers: withoutTrace(request.headers),
        body: typeof request.body === 'string' ? request.body : Buffer.from(request.body ?? []),
        ...connectionOf(settings),
        maxAnswerBytes: MAX_ANSWER_BYTES,
        skipsVerification: !settings.rejectUnauthorized,
        closesConnection: !settings.reuseConnections,
        ...(signal && { signal }),
      });
      const answer = await sent.catch(error => {
        if (signal && isUnanswered(error)) reporters?.get(signal)?.();
        throw error;
      });
      const { status: statusCode, headers, body } = answer;
      return { response: { statusCode, headers, body: Readable.from([body]) } };
    },
  },
});

/** The library takes the trace of the process from its variables. It is no part of the signature. */
const withoutTrace = (headers: SdkRequest['headers']): SdkRequest['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'x-amzn-trace-id'));

const never = async (): Promise<never> => {
  throw new CredentialsMissing('there are no keys but those of the settings');
};

/**
 * Every option that the library would else read from variables, from files of a profile, or from the machine: addresses,
 * the retry mode, what it says about itself, and keys.
 */
const WITHOUT_PROCESS = {
  authSchemePreference: async (): Promise<string[]> => [],
  credentialDefaultProvider: () => never,
  defaultsMode: 'standard',
  disableClockSkewCorrection: false,
  defaultUserAgentProvider: async (): Promise<[string, string][]> => [['headgate', VERSION]],
  ignoreConfiguredEndpointUrls: true,
  retryMode: 'standard',
  useDualstackEndpoint: false,
  useFipsEndpoint: false,
  userAgentAppId: async () => undefined,
} as const;

interface SdkRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

const urlOf = ({ protocol, hostname, port, path }: SdkRequest): string =>
  `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`;

/**
 * Returns the keys; when undefined, the library finds them itself: environment, profile, web identity, the machine's
 * own.
 */
function credentialsOf(access: SnsAccess) {
  const keys = configuredKeys(access);
  const { settings } = access;
  if (!settings.enableAssumeRole) return keys === undefined ? {} : { credentials: keys };
  const client = new STSClient({
    ...commonOptions(access),
    maxAttempts: 1,
    ...(keys && { credentials: keys }),
  });
  const assume = new AssumeRoleCommand({
    RoleArn: settings.assumeRoleArn,
    RoleSessionName: 'headgate',
    DurationSeconds: settings.durationSeconds,
    ...(settings.assumeRoleExternalId !== undefined && { ExternalId: settings.assumeRoleExternalId }),
  });
  return {
    /** Called again before the keys have expired. */
    async credentials() {
      const { Credentials: given } = await client.send(assume).catch(error => {
        throw error instanceof CredentialsMissing ? error : new RoleRefused(error);
      });
      if (given?.AccessKeyId === undefined || given.SecretAccessKey === undefined)
        throw new CredentialsMissing(`the role ${settings.assumeRoleArn} gave no keys`);
      return {
        accessKeyId: given.AccessKeyId,
        secretAccessKey: given.SecretAccessKey,
        ...(given.SessionToken !== undefined && { sessionToken: given.SessionToken }),
        ...(given.Expiration !== undefined && { expiration: given.Expiration }),
      };
    },
  };
}
