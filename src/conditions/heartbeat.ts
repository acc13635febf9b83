import * as z from 'zod';
import { type Duration, formatDuration } from '../lib/duration.ts';
import { duration } from '../lib/schemas.ts';
import {
  type ConditionTraits,
  type Description,
  type Explanation,
  formatTime,
  type OpenFor,
  type RuleTraits,
  unendedOf,
  type Verdict,
  windowTraits,
} from './condition.ts';

const schema = z.strictObject({
  name: z
    .string()
    .regex(/^\P{Cc}{1,512}$/u, 'must be 1 to 512 characters that can be printed')
    .describe(
      'The heartbeat: the `key` of what is posted, or a pattern with `*` for all that have come at least once.',
    ),
  timeWindow: duration({ min: '1s' })
    .prefault('60s')
    .describe('How often it is expected, with what it may be late.'),
  notifyOnResolution: z
    .boolean()
    .default(true)
    .describe('true: one message at the start, one at the end. false: one each timeWindow while it lasts.'),
});

interface HeartbeatState {
  readonly key: string;
  /** Epoch ms of the last one; null when none is known. */
  readonly lastAt: number | null;
  /** Observed ms without one: since the last, the start of this process or when it was declared. */
  readonly silentMs: number;
  /** Since this process saw one; undefined before the first. */
  readonly sinceReceivedMs: number | undefined;
  /** Its sender reports a failure. */
  readonly hasFailed: boolean;
  readonly open: OpenFor | undefined;
}

/** A condition that does not hold while external events come in time. */
export interface HeartbeatCondition extends ConditionTraits {
  readonly source: 'heartbeat';
  readonly schema: typeof schema;
  /** Validates a raw conf; throws `z.ZodError`. */
  configure(raw: unknown): HeartbeatRule;
}

export interface HeartbeatRule extends RuleTraits {
  readonly source: 'heartbeat';
  readonly condition: HeartbeatCondition;
  /** Effective conf; serialises to what a file would say. */
  readonly conf: z.output<typeof schema>;
  /** Pure: the same heartbeat and conf give the same verdict. */
  evaluate(state: HeartbeatState): Verdict;
  /** Gives the numbers that `evaluate` goes by. */
  explain(state: HeartbeatState): Explanation;
}

/** An expected heartbeat that did not come. An open incident ends only with one that came since. */
export const heartbeat: HeartbeatCondition = {
  source: 'heartbeat',
  id: 'heartbeat',
  name: 'Heartbeat',
  type: 'message',
  category: 'heartbeats',
  description: 'An expected post to /ingest/events did not come within the time window.',
  kind: 'key',
  otherFields: ['timeWindow', 'lastBeatAt'],
  receivesEvents: true,
  example: { id: 'backup_missed', conf: { name: 'backup', timeWindow: '25h' } },
  schema,
  configure(raw) {
    const conf = schema.parse(raw);
    return {
      ...windowTraits(conf),
      source: 'heartbeat',
      condition: heartbeat,
      conf,
      kind: 'key',
      noPending: 'let the timeWindow be longer',
      evaluate: state => evaluateHeartbeat(state, conf),
      explain: state => explainHeartbeat(state, conf),
    };
  },
};

function evaluateHeartbeat(state: HeartbeatState, { timeWindow }: HeartbeatRule['conf']): Verdict {
  const { key, lastAt, silentMs, sinceReceivedMs, hasFailed, open } = state;
  const fields = fieldsOf(lastAt, timeWindow);
  if (hasFailed)
    return { state: 'alarm', describe: () => ({ fields, text: `Heartbeat ${key} reports a failure` }) };
  const unended = unendedOf(open);
  const hasComeSince =
    unended === undefined || (sinceReceivedMs !== undefined && sinceReceivedMs <= unended.observedMs);
  if (silentMs < timeWindow.ms && hasComeSince)
    return {
      state: 'ok',
      describe: () => ({
        fields,
        text: `Heartbeat ${key} has come again after ${formatDuration(open?.ms ?? 0)}`,
      }),
    };
  return { state: 'alarm', describe: () => overdue(state, timeWindow) };
}

const fieldsOf = (lastAt: number | null, { text: timeWindow }: Duration): Description['fields'] => ({
  timeWindow,
  ...(lastAt !== null && { lastBeatAt: Math.floor(lastAt / 1000) }),
});

function overdue({ key, lastAt }: HeartbeatState, timeWindow: Duration): Description {
  const since = lastAt === null ? '' : ` since ${formatTime(lastAt + timeWindow.ms)}`;
  return {
    fields: fieldsOf(lastAt, timeWindow),
    text: `Heartbeat ${key} is overdue${since || ': it has never come'}`,
  };
}

const explainHeartbeat = (state: HeartbeatState, { timeWindow }: HeartbeatRule['conf']): Explanation => ({
  facts: [
    {
      name: 'time without a heartbeat',
      value: state.silentMs,
      unit: 'milliseconds',
      alarm: { when: 'at least', limit: timeWindow.ms },
    },
  ],
  alarmInMs: Math.max(0, timeWindow.ms - state.silentMs),
  provided: 'no heartbeat comes until then',
  alarm: () => overdue(state, timeWindow),
});
