import type { HeadgateEvent } from '../events/event.ts';
import { toOutgoing } from '../events/outgoing.ts';
import { createExpressionWarnings } from '../expressions/warnings.ts';
import { AppError, notFound } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import { Rate } from '../lib/rate.ts';
import { rateLimited } from '../lib/rate-limited.ts';
import type { Outcome } from '../targets/outcome.ts';
import { hiddenTextsOf, resolveRoutes, type Target } from '../targets/target.ts';
import { attempt, type SendDependencies } from './attempt.ts';
import { createRateLimiter } from './limits/rate.ts';
import { type RecordedAnswer, type RecordedRequest, recordHttp } from './recorded-http.ts';

interface TestSendOptions extends Omit<SendDependencies, 'expressionWarnings'> {
  readonly ids: Ids;
  /** The value of `cribl_host`. */
  readonly instanceName: () => string;
}

/** The result of a test, without secrets. */
export interface TestResult {
  /** Id of the target that was sent to. */
  readonly target: string;
  readonly success: boolean;
  readonly verdict: Outcome['kind'];
  /** Why it did not arrive; of one that did, what it does not show. */
  readonly reason?: string;
  /** The request over HTTP, or for what goes another way the event as the target got it. */
  readonly request: RecordedRequest | { readonly event: HeadgateEvent };
  /** Null when no answer came, or none is given. */
  readonly response: RecordedAnswer | { readonly body: string } | null;
  /** The result at each target that a router led to. */
  readonly outputs?: readonly TestResult[];
}

interface TestRequest {
  /** Id of the target. */
  readonly id: string;
  /** All targets, for what routers lead to. */
  readonly targets: ReadonlyMap<string, Target>;
  /** Name of the user who asks; it is in the message. */
  readonly requestedBy: string;
  /** Who gets mail. */
  readonly emails: readonly string[];
}

/** Throws `not-found` for an id nobody has, `rate-limited` when too many tests are asked for. */
export type TestSend = (request: TestRequest) => Promise<TestResult>;

/** Tests leave the network: they must not serve as a stream of messages. */
const TEST_RATE = new Rate('30/minute', 30, 60_000);

/** Sends tests through what deliveries are sent through: the target's own function, the guard, the time limits. */
export function createTestSend(options: TestSendOptions): TestSend {
  const { clock, ids, logger } = options;
  const expressionWarnings = createExpressionWarnings({ clock, logger });
  const rateLimiter = createRateLimiter();
  rateLimiter.setLimit(TEST_RATE);

  function admit(): void {
    const now = clock.monotonic();
    const waitMs = rateLimiter.nextFreeAt() - now;
    if (waitMs > 0) throw rateLimited(`no more than ${TEST_RATE.text} tests are sent; wait a moment`, waitMs);
    rateLimiter.record(now);
  }

  async function sendOnce(target: Target, event: HeadgateEvent): Promise<TestResult> {
    const { settings } = target;
    const recorder = recordHttp(options.http, hiddenTextsOf(target));
    const sendRequest = { id: ids.next(), events: [event] };
    const attemptResult = await attempt(sendRequest, target, {
      ...options,
      expressionWarnings,
      http: recorder.http,
    });
    if (attemptResult === 'stopped' || attemptResult.isCut === true)
      throw new AppError('unavailable', 'the server is being stopped');
    const { outcome } = attemptResult;
    const { request, answer } = recorder.last();
    const targetAnswer = outcome.answer === undefined ? undefined : { body: outcome.answer };
    const reason = outcome.kind === 'sent' ? target.testNote : outcome.reason;
    return {
      target: settings.id,
      success: outcome.kind === 'sent',
      verdict: outcome.kind,
      ...(reason !== undefined && { reason }),
      request: request ?? { event },
      response: answer === undefined ? (targetAnswer ?? null) : { ...answer, ...targetAnswer },
    };
  }

  async function sendTo(target: Target, event: HeadgateEvent): Promise<TestResult> {
    const alarm = toOutgoing(event, target.settings.systemFields, options.instanceName());
    const result = await sendOnce(target, alarm);
    if (target.keepsOpen !== true || !result.success) return result;
    const attemptResult = { ...alarm, id: ids.next(), status: 'OK', _raw: `End of: ${alarm._raw}` } as const;
    const ended = await sendOnce(target, attemptResult);
    return ended.success ? result : ended;
  }

  return async ({ id, targets, requestedBy, emails }) => {
    const target = targets.get(id);
    if (target === undefined) throw notFound('target', id);
    admit();
    const event = {
      ...testEvent(id, requestedBy, { clock, ids }),
      ...withRecipients(emails, targets.keys()),
    };
    if (target.routes === undefined) return sendTo(target, event);
    const reached = resolveRoutes([id], event, targets, expressionWarnings).flatMap(
      output => targets.get(output) ?? [],
    );
    return routedResult(id, event, await Promise.all(reached.map(output => sendTo(output, event))));
  };
}

/** The event's settings for each target, as those of a notification. */
function withRecipients(emails: readonly string[], ids: Iterable<string>): object {
  if (emails.length === 0) return {};
  const conf = { emailRecipient: { to: emails.join(', ') } };
  return { __targetConfigs: Object.fromEntries([...ids].map(id => [id, conf])) };
}

/** The result of a router is the worst of the targets it led to. */
function routedResult(target: string, event: HeadgateEvent, outputs: readonly TestResult[]): TestResult {
  const [none] = outputs;
  const failed = outputs.find(({ success }) => !success);
  const common = { target, request: { event }, response: null, outputs };
  if (none === undefined)
    return { ...common, success: false, verdict: 'refused', reason: 'no route is taken by a test' };
  if (failed === undefined) return { ...common, success: true, verdict: 'sent' };
  return { ...common, success: false, verdict: failed.verdict, reason: `${failed.target}: ${failed.reason}` };
}

function testEvent(
  id: string,
  requestedBy: string,
  { clock, ids }: Pick<TestSendOptions, 'clock' | 'ids'>,
): HeadgateEvent {
  const seconds = Math.floor(clock.now() / 1000);
  return {
    id: ids.next(),
    status: 'ALARM',
    condition: 'test',
    cribl_notification: 'test',
    target: id,
    _time: seconds,
    starttime: seconds,
    endtime: seconds,
    severity: 'info',
    incidentId: ids.next(),
    _raw: `Test of target ${id}, asked for by ${requestedBy}`,
  };
}
