import { wireComponent, wireComponentStatus } from '../../src/api/v1/components.ts';
import { wireDelivery } from '../../src/api/v1/deliveries.ts';
import { wireIncident } from '../../src/api/v1/incidents.ts';
import { wireMessage } from '../../src/api/v1/messages.ts';
import { wireEngine } from '../../src/api/v1/system.ts';
import { wireTarget } from '../../src/api/v1/targets.ts';
import type { ComponentEvaluation, OpenFor, Verdict } from '../../src/conditions/condition.ts';
import type { AlertingRule } from '../../src/conditions/index.ts';
import { plainCopy } from '../../src/config/plain.ts';
import { toOutgoing } from '../../src/events/outgoing.ts';
import { SYSTEM_FIELDS } from '../../src/events/system-fields.ts';
import { bulletinRow, collectFacts, transition } from '../../src/notifications/incidents/transition.ts';
import { configureNotification } from '../../src/notifications/notification.ts';
import { subjectOf } from '../../src/notifications/subjects.ts';
import type { IncidentRow } from '../../src/storage/stores/incidents.ts';
import { findTargetType } from '../../src/targets/index.ts';
import { testClock } from './clock.ts';
import { testComponents } from './components.ts';
import { countingIds } from './counting-ids.ts';

const HOST = 'headgate';
const EXTERNAL_URL = 'https://headgate.example';

function evaluated(rule: AlertingRule, evaluation: ComponentEvaluation): Verdict {
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
  const app = components.add('app');
  const subject = subjectOf(app);
  components.data(app);

  const usual = {
    components: { ...components, hosts: () => ['edge-1.example:9598'], lastDataAt: () => begin },
    usualRates: async () => ({ eventsPerSecond: 0.3, bytesPerSecond: 43 }),
  };

  async function change(
    status: 'ALARM' | 'OK',
    incident: IncidentRow | undefined,
    open: OpenFor | undefined,
  ) {
    return transition({
      facts: await collectFacts({ subject, pipeline: undefined, status }, usual),
      workspace: 'default',
      origin: notification,
      subject,
      status,
      description: describe(evaluated(notification.rule, { subject, components, open })),
      incident,
      closeReason: undefined,
      recipients: ['ops'],
      now: clock.now(),
      ids,
      externalUrl: EXTERNAL_URL,
      fieldOmitted: () => {},
      bulletin: event =>
        bulletinRow(notification, [], event, {
          openCount: status === 'ALARM' ? 1 : 0,
          isOpen: status === 'ALARM',
          others: [],
        }),
    });
  }

  await clock.advance(60_000);
  const alarm = await change('ALARM', undefined, undefined);
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
  const ok = await change('OK', alarm.operation.incident, { ms: 76_000, observedMs: 76_000 });

  const posted = await externalEvent(target?.settings.systemFields ?? []);

  const [waiting] = alarm.operation.deliveries;
  if (waiting === undefined || engine === undefined || target === undefined)
    throw new Error('the story lacks a part');
  const recipient = {
    target: waiting.target,
    outcome: 'notified' as const,
    at: waiting.created_at + 12,
    held: undefined,
    reason: undefined,
    insteadOf: undefined,
    isRecord: false,
  };
  const sent = {
    ...waiting,
    state: 'sent' as const,
    attempts: 1,
    last_status: 200,
    settled_at: waiting.created_at + 12,
  };
  return {
    alarm: toOutgoing(alarm.event, target.settings.systemFields, HOST),
    /** What follows from an event that a search posts. */
    posted,
    ok: toOutgoing(ok.event, target.settings.systemFields, HOST),
    /** The alarm with every system field there is. */
    whole: toOutgoing(alarm.event, SYSTEM_FIELDS, HOST),
    input: wireComponent(silent),
    status: wireComponentStatus(silent),
    notification: notification.settings,
    target: wireTarget({ settings: plainCopy(target.settings), failure: undefined, heldBecause: undefined }),
    incident: wireIncident({
      row: ok.operation.incident,
      notified: 'somebody',
      inhibitedBy: undefined,
      recipients: [recipient],
      acknowledgement: undefined,
    }),
    delivery: wireDelivery({ row: sent, held: undefined }),
    message: wireMessage(alarm.operation.message),
    engine: wireEngine({ ...engine, url: 'http://127.0.0.1:9598/metrics', lastAt: silent.status.timestamp }),
  };
}

/** Somebody else's search finds something and posts it. */
async function externalEvent(systemFields: readonly string[]) {
  const clock = testClock();
  const notification = configureNotification({
    id: 'failed_logins',
    condition: 'search',
    targets: ['ops'],
    conf: { savedQueryId: 'failed_logins', message: '${count} failed logins on ${host}' },
  });
  const { rule } = notification;
  if (rule.source !== 'external') throw new Error('a search is external');
  const key = 'failed_logins/web1';
  const fields = { count: 42, host: 'web1' };
  const { event } = transition({
    workspace: 'default',
    origin: notification,
    subject: { key, name: key, component: undefined },
    status: 'ALARM',
    description: rule.describe({ key, state: 'ALARM', fields, openMs: undefined }),
    incident: undefined,
    closeReason: undefined,
    recipients: [],
    now: clock.now(),
    ids: countingIds(),
    externalUrl: undefined,
    fieldOmitted: () => {},
    bulletin: sent => bulletinRow(notification, [], sent, { openCount: 1, isOpen: true, others: [] }),
  });
  return toOutgoing(event, systemFields, HOST);
}
