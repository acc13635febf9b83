import * as z from 'zod';
import { type Duration, formatDuration } from '../lib/duration.ts';
import { duration } from '../lib/schemas.ts';
import {
  defineEvaluatedCondition,
  type EvaluatedCondition,
  type EvaluatedRule,
  formatTime,
  type SubjectEvaluation,
  type Verdict,
} from './condition.ts';

type ExpiryKind = 'certificate' | 'credential';

/** A certificate or credential that ends at a known time, as the application provides it. */
export interface Expiry {
  readonly kind: ExpiryKind;
  /** Unique among those of its kind; the incident's subject. */
  readonly key: string;
  /** Epoch ms; undefined while it is not known. */
  readonly expiresAt: number | undefined;
  /** It is renewed in time without an alarm, so that only one that has expired is an alarm. */
  readonly autoRenews?: true;
}

interface ExpiryConf {
  /** A key, or a pattern with `*`. */
  readonly name: string;
  readonly within: Duration;
  readonly notifyOnResolution: boolean;
}

export type ExpiryCondition = EvaluatedCondition<'expiry', ExpiryKind, ExpiryConf, Expiry>;
export type ExpiryRule = EvaluatedRule<'expiry', ExpiryKind, ExpiryConf, Expiry>;

interface ExpirationOptions {
  readonly kind: ExpiryKind;
  readonly name: string;
  /** How long before the end the alarm is by default. */
  readonly within: string;
}

const DAY_MS = 86_400_000;
const NOT_SEEN = 'nobody has seen it yet';

/** Alarms when it ends soon or has ended; resolves when the replacement lasts longer. */
function defineExpiration({ kind, name, within }: ExpirationOptions): ExpiryCondition {
  const title = kind === 'certificate' ? 'Certificate' : 'Credential';
  return defineEvaluatedCondition({
    source: 'expiry',
    kind,
    id: `${kind}-expiration`,
    name,
    type: 'message',
    category: `${kind}s`,
    description: `A ${kind} expires soon, or has expired.`,
    sample: { expirationDate: '2024-02-08T00:00:00Z', within },
    sampleSubject: 'server',
    example: { id: `${kind}s`, conf: { name: '*', within } },
    traits: ({ notifyOnResolution }) => ({ windowMs: 0, repeatMs: notifyOnResolution ? null : DAY_MS }),
    schema: z.strictObject({
      name: z.string().min(1).default('*').describe(`The ${kind}: its key, or a pattern with \`*\`.`),
      within: duration().prefault(within).describe('How long before its end it alerts.'),
      notifyOnResolution: z
        .boolean()
        .default(true)
        .describe('true: one message at the start, one at the end. false: one each day while it lasts.'),
    }),
    evaluate({ subject, now }: SubjectEvaluation<Expiry>, conf: ExpiryConf): Verdict {
      const { expiresAt, autoRenews } = subject;
      if (expiresAt === undefined) return { state: 'unknown', reason: NOT_SEEN };
      const remainingMs = expiresAt - now;
      const fields = { expirationDate: formatTime(expiresAt), within: conf.within.text };
      const text = `${title} ${subject.key} ${describeEnd(remainingMs)}`;
      if (remainingMs <= (autoRenews ? 0 : conf.within.ms))
        return { state: 'alarm', describe: () => ({ fields, text }) };
      const renewed = `${title} ${subject.key} was renewed and ${describeEnd(remainingMs)}`;
      return { state: 'ok', describe: () => ({ fields, text: renewed }) };
    },
    explain({ subject, now }, { within }) {
      const { expiresAt, autoRenews, key } = subject;
      const remainingMs = expiresAt === undefined ? undefined : expiresAt - now;
      const limit = autoRenews ? 0 : within.ms;
      return {
        facts: [
          {
            ...{ name: 'time until it expires', value: remainingMs, unit: 'milliseconds' },
            alarm: { when: 'at most', limit },
            unknown: remainingMs === undefined ? NOT_SEEN : undefined,
          },
        ],
        alarmInMs: remainingMs === undefined ? 0 : Math.max(0, remainingMs - limit),
        provided: 'it is not renewed until then',
        alarm: () => ({
          fields: { expirationDate: formatTime(expiresAt ?? now + limit), within: within.text },
          text: `${title} ${key} ${describeEnd(Math.min(limit, remainingMs ?? limit))}`,
        }),
      };
    },
  });
}

const describeEnd = (remainingMs: number): string =>
  remainingMs > 0
    ? `expires in ${formatDuration(remainingMs)}`
    : `expired ${formatDuration(-remainingMs)} ago`;

export const certificateExpiration = defineExpiration({
  kind: 'certificate',
  name: 'Certificate Expiration',
  within: '14d',
});

export const credentialExpiration = defineExpiration({
  kind: 'credential',
  name: 'Credential Expiration',
  within: '7d',
});
