import { wireComponent, wireComponentStatus } from '../../src/api/wire/component.ts';
import { wireDelivery } from '../../src/api/wire/delivery.ts';
import { wireEngine } from '../../src/api/wire/engine.ts';
import { wireIncident } from '../../src/api/wire/incident.ts';
import { wireMessage } from '../../src/api/wire/message.ts';
import { wireTarget } from '../../src/api/wire/target.ts';
import type { Evaluation, OpenFor, Verdict } from '../../src/conditions/condition.ts';
import type { Rule } from '../../src/conditions/index.ts';
import { outgoing } from '../../src/delivery/outgoing.ts';
import { SYSTEM_FIELDS } from '../../src/events/system-fields.ts';
import { bulletinRow } from '../../src/notifications/bulletin.ts';
import { configureNotification } from '../../src/notifications/notification.ts';
import { subjectOf } from '../../src/notifications/subjects.ts';
import { transition } from '../../src/notifications/transition.ts';
import { createWatch } from '../../src/notifications/watch.ts';
import type { IncidentRow } from '../../src/storage/storage.ts';
import { findTargetType } from '../../src/targets/index.ts';
import { testClock } from './clock.ts';
import { testComponents } from './components.ts';
import { countingIds } from './counting-ids.ts';

const HOST = 'headgate';
const EXTERNAL_URL = 'https://headgate.example';

function evaluated(rule: Rule, evaluation: Evaluation): Verdict {
  if (rule.source !== 'component') throw new Error('the story is one of a component');
  return rule.evaluate(evaluation);
}

function describe(verdict: Verdict) {
  if (verdict.state === 'unknown') throw new Error(`the condition does not know: ${verdict.reason}`);
  return verdict.describe();
}

/**
 * What the references tell their examples of, made by the product's own functions: the input `syslog:app` falls
 * silent, an incident opens, a webhook is told, data comes again.
 */
export async function story() {
  const clock = testClock();
  const begin = clock.now();
  const ids = countingIds();
  const components = testComponents(clock);
  const target = findTargetType('webhook')?.configure({
    id: 'ops',
    type: 'webhook',
    url: 'https://hooks.example/ops',
    authType: 'token',
    token: 'not-to-be-shown',
  });
  const notification = configureNotification({
    id: 'app_silent',
    condition: 'no-data',
    targets: ['ops'],
    conf: { name: 'syslog:app' },
    description: 'The application of the shop.',
    runbookUrl: 'https://wiki.example/app-silent',
  });
  const watch = createWatch(notification, clock.monotonic());
  const app = components.add('app');
  const subject = subjectOf(app);
  components.data(app);

  function tell(status: 'ALARM' | 'OK', incident: IncidentRow | undefined, open: OpenFor | undefined) {
    return transition({
      workspace: 'default',
      origin: watch.origin,
      subject,
      status,
      description: describe(evaluated(notification.rule, { subject, components, open })),
      incident,
      closeReason: undefined,
      recipients: ['ops'],
      now: clock.now(),
      ids,
      externalUrl: EXTERNAL_URL,
      leftOut: () => {},
      bulletin: event => bulletinRow(watch.origin, [], event, status === 'ALARM' ? 1 : 0),
    });
  }

  await clock.advance(60_000);
  const alarm = tell('ALARM', undefined, undefined);
  const silent = {
    settings: { id: app.id, type: app.type, disabled: false, group: app.group },
    component: app,
    isDeclared: false,
    status: {
      ...components.status(app),
      metrics: { in_events: 1840, in_bytes: 262_144 },
      lastDataAt: begin,
    },
    notifications: [notification.settings],
  };
  const engine = components.pipeline('edge');
  await clock.advance(75_000);
  components.data(app);
  await clock.advance(1000);
  const ok = tell('OK', alarm.operation.incident, { ms: 76_000, observedMs: 76_000 });

  const posted = await searchFound(target?.settings.systemFields ?? []);

  const [waiting] = alarm.operation.deliveries;
  if (waiting === undefined || engine === undefined || target === undefined)
    throw new Error('the story lacks a part');
  const sent = {
    ...waiting,
    state: 'sent' as const,
    attempts: 1,
    last_status: 200,
    settled_at: waiting.created_at + 12,
  };
  return {
    alarm: outgoing(alarm.event, target.settings.systemFields, HOST),
    /** What follows from an event that a search posts. */
    posted,
    ok: outgoing(ok.event, target.settings.systemFields, HOST),
    /** The alarm with every system field there is. */
    whole: outgoing(alarm.event, SYSTEM_FIELDS, HOST),
    input: wireComponent(silent),
    status: wireComponentStatus(silent),
    notification: notification.settings,
    target: wireTarget({ settings: target.settings, failure: undefined, heldBecause: undefined }),
    incident: wireIncident(ok.operation.incident),
    delivery: wireDelivery({ row: sent, heldBecause: undefined }),
    message: wireMessage(alarm.operation.message),
    engine: wireEngine({ ...engine, url: 'http://127.0.0.1:9598/metrics', lastAt: silent.status.timestamp }),
  };
}

/** Somebody else's search finds something and posts it. */
async function searchFound(systemFields: readonly string[]) {
  const clock = testClock();
  const notification = configureNotification({
    id: 'failed_logins',
    condition: 'search',
    targets: ['ops'],
    conf: { savedQueryId: 'failed_logins', message: '${count} failed logins on ${host}' },
  });
  const { rule } = notification;
  if (rule.source !== 'posted') throw new Error('a search is posted');
  const watch = createWatch(notification, clock.monotonic());
  const key = 'failed_logins/web1';
  const fields = { count: 42, host: 'web1' };
  const { event } = transition({
    workspace: 'default',
    origin: watch.origin,
    subject: { key, name: key, component: undefined },
    status: 'ALARM',
    description: rule.describe({ key, state: 'ALARM', fields, openMs: undefined }),
    incident: undefined,
    closeReason: undefined,
    recipients: [],
    now: clock.now(),
    ids: countingIds(),
    externalUrl: undefined,
    leftOut: () => {},
    bulletin: told => bulletinRow(watch.origin, [], told, 1),
  });
  return outgoing(event, systemFields, HOST);
}
