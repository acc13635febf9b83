import type { HeadgateEvent } from '../events/event.ts';
import { AppError } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import { Rate } from '../lib/rate.ts';
import { secretsIn } from '../lib/secret.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Target } from '../targets/target.ts';
import { attempt, type Sending } from './attempt.ts';
import { outgoing } from './outgoing.ts';
import { createPace } from './pace.ts';
import { recordHttp, type SeenAnswer, type SeenRequest } from './record-http.ts';

interface TestSendOptions extends Sending {
  readonly ids: Ids;
  /** What `cribl_host` says. */
  readonly instanceName: () => string;
}

/** What came of a test, without secrets. */
export interface TestResult {
  /** Id of the target that was sent to. */
  readonly target: string;
  readonly success: boolean;
  readonly verdict: Outcome['kind'];
  /** Why it did not arrive. */
  readonly reason?: string;
  /** The request over HTTP, or for what goes another way the event as the target got it. */
  readonly request: SeenRequest | { readonly event: HeadgateEvent };
  /** Null when no answer came, or none is given. */
  readonly response: SeenAnswer | { readonly body: string } | null;
}

/** `asker` is the name of whoever asks; it is in the message. */
export type TestSend = (target: Target, asker: string) => Promise<TestResult>;

/** Each leaves the house: nobody is to use them as a stream of messages. */
const MOST = new Rate('30/minute', 30, 60_000);

/** Sends tests through what deliveries are sent through: the target's own function, the guard, the time limits. */
export function createTestSend(options: TestSendOptions): TestSend {
  const { clock, ids } = options;
  const pace = createPace();
  pace.limit(MOST);

  function admit(): void {
    const now = clock.monotonic();
    const waitMs = pace.freeAt() - now;
    if (waitMs > 0)
      throw new AppError('rate-limited', `no more than ${MOST.text} tests are sent; wait a moment`, {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      });
    pace.begun(now);
  }

  async function sendOnce(target: Target, event: HeadgateEvent): Promise<TestResult> {
    const { settings } = target;
    const recorder = recordHttp(options.http, secretsIn(settings));
    const parcel = { id: ids.next(), events: [event] };
    const end = await attempt(parcel, target, { ...options, http: recorder.http });
    if (end === 'stopped') throw new AppError('unavailable', 'the server is being stopped');
    const { outcome } = end;
    const { request, answer } = recorder.last();
    const said =
      outcome.kind !== 'sent' && outcome.answer !== undefined ? { body: outcome.answer } : undefined;
    return {
      target: settings.id,
      success: outcome.kind === 'sent',
      verdict: outcome.kind,
      ...(outcome.kind !== 'sent' && { reason: outcome.reason }),
      request: request ?? { event },
      response: answer === undefined ? (said ?? null) : { ...answer, ...said },
    };
  }

  return async (target, asker) => {
    admit();
    const { id, systemFields } = target.settings;
    const alarm = outgoing(testEvent(id, asker, { clock, ids }), systemFields, options.instanceName());
    const result = await sendOnce(target, alarm);
    if (target.keepsOpen !== true || !result.success) return result;
    const end = await sendOnce(target, {
      ...alarm,
      id: ids.next(),
      status: 'OK',
      _raw: `End of the ${alarm._raw}`,
    });
    return end.success ? result : end;
  };
}

function testEvent(
  id: string,
  asker: string,
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
    _raw: `Test of target ${id}, asked for by ${asker}`,
  };
}
