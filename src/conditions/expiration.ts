import * as z from 'zod';
import { formatDuration } from '../lib/duration.ts';
import { duration } from '../lib/schemas.ts';
import { defineAsked, type Question } from './asked.ts';
import type { Verdict } from './condition.ts';
import type { ExpiryFact, FactCondition, FactConf, FactKind } from './fact.ts';
import { timeOf } from './wording.ts';

interface Expiration {
  readonly kind: FactKind;
  readonly name: string;
  /** How long before its end it is told where the conf does not say. */
  readonly within: string;
}

/** It ends soon or has ended; over when what took its place lasts longer. */
export function defineExpiration({ kind, name, within }: Expiration): FactCondition {
  const called = kind === 'certificate' ? 'Certificate' : 'Credential';
  return defineAsked({
    source: 'fact',
    kind,
    id: `${kind}-expiration`,
    name,
    type: 'message',
    category: `${kind}s`,
    description: `A ${kind} expires soon, or has expired.`,
    schema: z.strictObject({
      name: z.string().min(1).default('*').describe(`The ${kind}: its key, or a pattern with \`*\`.`),
      within: duration().prefault(within).describe('How long before its end it is told.'),
      notifyOnResolution: z
        .boolean()
        .default(true)
        .describe('true: one message at the start, one at the end. false: one each day while it lasts.'),
    }),
    evaluate({ subject, now }: Question<ExpiryFact>, conf: FactConf): Verdict {
      const { expiresAt, renewsItself } = subject;
      if (expiresAt === undefined) return { state: 'unknown', reason: 'nobody has seen it yet' };
      const leftMs = expiresAt - now;
      const fields = { expirationDate: timeOf(expiresAt), within: conf.within.text };
      const text = `${called} ${subject.key} ${ends(leftMs)}`;
      if (leftMs <= (renewsItself ? 0 : conf.within.ms))
        return { state: 'alarm', describe: () => ({ fields, text }) };
      const renewed = `${called} ${subject.key} was renewed and ${ends(leftMs)}`;
      return { state: 'ok', describe: () => ({ fields, text: renewed }) };
    },
  });
}

const ends = (leftMs: number): string =>
  leftMs > 0 ? `expires in ${formatDuration(leftMs)}` : `expired ${formatDuration(-leftMs)} ago`;
