import type { Expression } from '../../expressions/expression.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { HttpAnswer } from '../../lib/http/client.ts';
import { truncateToBytes } from '../../lib/text.ts';
import { classifyAnswer, type HttpExchange, retryOutcome, sentOutcome, statusText } from '../http-target.ts';
import type { Outcome } from '../outcome.ts';

/**
 * What `successExpression` reads of an answer: its status, its headers by names in lower case, its body as text, the same
 * as JSON where it is JSON, and what its status alone says.
 */
export const ANSWER_FIELDS = ['status', 'headers', 'body', 'json', 'byStatus'] as const;

/** True: the receiver has it. False: it refuses it. `later`: it is to be sent again. */
type Verdict = boolean | 'later';

interface JudgeOptions {
  /** Absent, the status decides. */
  readonly successExpression: Expression | undefined;
  /** Of several events one may be at fault: each is tried alone. */
  readonly hasSeveralEvents: boolean;
  /** Reports an expression that gives no verdict; the status decides then. */
  readonly warn: (reason: string) => void;
}

/** Makes the function that judges the answers to one request. It never throws, whatever a receiver answers. */
export const answerJudge =
  ({ successExpression, hasSeveralEvents, warn }: JudgeOptions) =>
  (answer: HttpAnswer, exchange: HttpExchange): Outcome => {
    const byStatus = classifyAnswer(answer, exchange);
    if (successExpression === undefined) return byStatus;
    const known = verdictOf(byStatus);
    const verdict = evaluate(successExpression, { answer, byStatus: known, warn });
    if (verdict === known) return byStatus;
    if (verdict === true) return sentOutcome(answer, exchange);
    const shown = sentOutcome(answer, exchange).answer ?? '';
    const said = shown === '' ? '' : `: ${truncateToBytes(shown, MAX_QUOTED_BYTES)}`;
    if (verdict === 'later')
      return retryOutcome(`${statusText(answer.status)} and wants it later${said}`, answer, exchange);
    return {
      kind: 'refused',
      reason: `${statusText(answer.status)} and refuses it${said}`,
      httpStatus: answer.status,
      ...(shown !== '' && { answer: shown }),
      ...(hasSeveralEvents && { isAboutMessage: true }),
    };
  };

/** The rest is kept with the attempt. */
const MAX_QUOTED_BYTES = 256;

const verdictOf = ({ kind }: Outcome): Verdict =>
  kind === 'sent' ? true : kind === 'refused' ? false : 'later';

interface Judged {
  readonly answer: HttpAnswer;
  readonly byStatus: Verdict;
  readonly warn: (reason: string) => void;
}

function evaluate(expression: Expression, { answer, byStatus, warn }: Judged): Verdict {
  try {
    const value = expression.evaluate({ ...answerFields(answer), byStatus });
    if (value === true || value === false || value === 'later') return value;
    warn(`successExpression: it gives ${nameOf(value)}, and not true, false or 'later'; ${STATUS_DECIDES}`);
  } catch (error) {
    warn(`successExpression: ${reasonOf(error)}; ${STATUS_DECIDES}`);
  }
  return byStatus;
}

const STATUS_DECIDES = 'the status of the answer decides';

const nameOf = (value: unknown): string =>
  value === undefined || value === null ? 'nothing' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;

/** At most 64 KB of a body were read; of a longer one the rest is missing, and it is no JSON. */
function answerFields({ status, headers, body, truncated }: HttpAnswer) {
  const text = new TextDecoder().decode(body);
  return { status, headers: { ...headers }, body: text, json: truncated ? undefined : parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
