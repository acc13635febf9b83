import * as z from 'zod';
import { type ContractAnswer, contractServer, type Received } from './contract-server.ts';

/** Incoming webhooks as Slack documents them: what it takes, and the words in which it refuses. */

const textObject = (most: number) =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('mrkdwn'),
      text: z.string().min(1).max(most).refine(isMrkdwn),
      verbatim: z.boolean().optional(),
    }),
    z.strictObject({
      type: z.literal('plain_text'),
      text: z.string().min(1).max(most),
      emoji: z.boolean().optional(),
    }),
  ]);

const block = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('section'),
    text: textObject(3000),
    block_id: z.string().max(255).optional(),
  }),
  z.strictObject({ type: z.literal('context'), elements: z.array(textObject(3000)).min(1).max(10) }),
  z.strictObject({ type: z.literal('divider') }),
]);

/** Only links, dates and the three entities: a bare `<`, `>` or `&` would be read as markup. */
function isMrkdwn(text: string): boolean {
  const rest = text
    .replace(/<https?:\/\/[^<>|\s]+\|[^<>|]+>/g, '')
    .replace(/<!date\^\d+\^[^<>|^]+\|[^<>|]+>/g, '')
    .replace(/&(?:amp|lt|gt);/g, '');
  return !/[<>&]/.test(rest) && !/\p{Surrogate}/u.test(text);
}

/** Why Slack refuses the body of a request; undefined when it takes it. */
export function slackFault(body: string): string | undefined {
  const payload = parsed(body);
  if (payload === undefined) return 'invalid_payload';
  const { text, blocks = [], ...others } = payload;
  if (Object.keys(others).length > 0) return 'invalid_payload';
  if (typeof text !== 'string' || text.trim() === '') return 'no_text';
  if (!isMrkdwn(text)) return 'invalid_payload';
  if (text.length > 40_000) return 'msg_too_long';
  const read = z.array(block).max(50).safeParse(blocks);
  return read.success ? undefined : 'invalid_blocks';
}

function parsed(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const read = z.record(z.string(), z.unknown()).safeParse(JSON.parse(body));
    return read.success ? read.data : undefined;
  } catch {
    return undefined;
  }
}

/** `answer` says what is answered to a request that is well formed. */
export function slackServer(
  answer: (received: Received) => ContractAnswer = () => ({ status: 200, body: 'ok' }),
) {
  return contractServer(received => {
    const isJson = received.headers['content-type']?.startsWith('application/json') === true;
    if (received.method !== 'POST' || !isJson) return { status: 400, body: 'invalid_payload' };
    const fault = slackFault(received.body);
    return fault === undefined ? answer(received) : { status: 400, body: fault };
  });
}
