import type { Metrics } from '../../lib/metrics.ts';
import { failuresOf } from '../../notifications/incidents/target-health.ts';
import type { WorkspaceContext } from '../../resources/context.ts';
import { DELIVERY_STATES } from '../../storage/tables.ts';

const COUNT_ONLY = { offset: 0, limit: 1 } as const;
/** States with a current meaning; sent and skipped deliveries are history. */
const REPORTED_STATES = DELIVERY_STATES.filter(state => state !== 'sent' && state !== 'skipped');
/** One label for all targets that are no longer configured. */
const REMOVED = '(removed)';

/** Everything is read at a scrape. */
export function describeWorkspace(metrics: Metrics, context: WorkspaceContext): void {
  describePipelines(metrics, context);
  describeEvaluation(metrics, context);
  metrics.gauge(
    { name: 'headgate_incidents_open', help: 'Incidents that are open.', labels: ['condition'] },
    async set => {
      for (const { rule } of context.configuration().notifications) set({ condition: rule.condition.id }, 0);
      for (const { condition, count } of await context.stores.incidents.openByCondition())
        set({ condition }, count);
    },
  );
  metrics.gauge(
    {
      name: 'headgate_deliveries',
      help: 'Deliveries that wait, may not have arrived, were refused, or were given up.',
      labels: ['state'],
    },
    async set => {
      for (const state of REPORTED_STATES)
        set({ state }, (await context.stores.deliveries.list({ state }, COUNT_ONLY)).total);
    },
  );
  metrics.gauge(
    {
      name: 'headgate_target_failing',
      help: '1 while deliveries to the target fail, 0 while they arrive.',
      labels: ['target'],
    },
    async set => {
      const failures = await failuresOf(context.stores.incidents);
      for (const { settings } of context.configuration().targets)
        set({ target: settings.id }, failures.has(settings.id) ? 1 : 0);
    },
  );
  describeQueues(metrics, context);
}

function describePipelines(metrics: Metrics, context: WorkspaceContext): void {
  metrics.gauge(
    {
      name: 'headgate_pipeline_reachable',
      help: '1 while the pipeline can be read, 0 while it cannot.',
      labels: ['pipeline'],
    },
    set => {
      for (const { id, state } of context.components.pipelines())
        if (state !== 'waiting') set({ pipeline: id }, state === 'reachable' ? 1 : 0);
    },
  );
  metrics.gauge(
    { name: 'headgate_components', help: 'Inputs and outputs that are known.', labels: ['kind'] },
    set => {
      const kinds = { input: 0, output: 0 };
      for (const { kind } of context.components.all()) kinds[kind] += 1;
      set({ kind: 'input' }, kinds.input);
      set({ kind: 'output' }, kinds.output);
    },
  );
  metrics.gauge(
    {
      name: 'headgate_history_components',
      help: 'Inputs and outputs that are recorded minute by minute; 0 while there are more than history.components.',
      labels: [],
    },
    set => set({}, context.minutes.recordedCount()),
  );
}

function describeEvaluation(metrics: Metrics, context: WorkspaceContext): void {
  metrics.gauge(
    {
      name: 'headgate_evaluation_age_seconds',
      help: 'For how long not every notification has been evaluated, in the process that leads: about half a second, and more while evaluation is late.',
      labels: [],
    },
    set => {
      const age = context.evaluationAgeMs();
      if (age !== undefined) set({}, age / 1000);
    },
  );
}

/** Names only targets that are configured. */
function describeQueues(metrics: Metrics, context: WorkspaceContext): void {
  async function queues() {
    const configured = new Set(context.configuration().targets.map(target => target.settings.id));
    const byTarget = new Map<string, { count: number; oldest: number }>();
    for (const { target, count, oldest } of await context.stores.deliveries.waitingByTarget()) {
      const name = configured.has(target) ? target : REMOVED;
      const before = byTarget.get(name) ?? { count: 0, oldest };
      byTarget.set(name, { count: before.count + count, oldest: Math.min(before.oldest, oldest) });
    }
    for (const id of configured)
      if (!byTarget.has(id)) byTarget.set(id, { count: 0, oldest: context.clock.now() });
    return byTarget;
  }
  metrics.gauge(
    { name: 'headgate_deliveries_waiting', help: 'Deliveries that wait for the target.', labels: ['target'] },
    async set => {
      for (const [target, { count }] of await queues()) set({ target }, count);
    },
  );
  metrics.gauge(
    {
      name: 'headgate_delivery_oldest_waiting_seconds',
      help: 'For how long the oldest delivery has waited for the target; 0 when none does.',
      labels: ['target'],
    },
    async set => {
      const now = context.clock.now();
      for (const [target, { oldest }] of await queues()) set({ target }, Math.max(0, now - oldest) / 1000);
    },
  );
}
