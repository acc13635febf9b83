import { expect, it } from 'vitest';
import { deliveryWorld, SENT } from '../../test/helpers/delivery-world.ts';
import { type MadeTransition, opening } from '../../test/helpers/transitions.ts';
import { until } from '../../test/helpers/until.ts';
import type { Target } from '../targets/target.ts';

const world = deliveryWorld();

const hook = (answer: () => typeof SENT | undefined = () => SENT): Target =>
  world.target('hook', answer, 4, { batching: { maxEvents: 500, maxBytes: 1_000_000, lingerMs: 0 } });

/** An alarm that waits in its group. */
async function waiting(subject: string, group: string): Promise<MadeTransition> {
  const made = opening({ subject });
  const deliveries = made.operation.deliveries.map(row => ({
    ...row,
    state: 'grouped' as const,
    group_id: group,
  }));
  await world.store.storage.commit({ ...made.operation, deliveries });
  return made;
}

async function flush(group: string): Promise<void> {
  await world.store.storage.commit({
    kind: 'flush',
    workspace: 'default',
    group: { id: group, interval_ends_at: 0 },
    sends: 'all',
    moved: [],
    events: [],
    now: 0,
  });
}

const idOf = ({ operation }: MadeTransition): string => operation.deliveries[0]?.id ?? '';
const release = (first: MadeTransition): void => world.dispatcher.readFrom(['hook'], idOf(first));
const requests = (): unknown[][] => world.received.map(one => one.events.map(event => event.incidentId));
const incidentsOf = (made: readonly MadeTransition[]): unknown[] => made.map(one => one.event.incidentId);

it('sends each group in a request of its own, and nothing of one that waits still', async () => {
  world.dispatcher.configure([hook()]);
  const [a1, b1, a2, b2] = [
    await waiting('a1', 'A'),
    await waiting('b1', 'B'),
    await waiting('a2', 'A'),
    await waiting('b2', 'B'),
  ];
  await waiting('c1', 'C');
  await flush('A');
  await flush('B');
  release(a1);
  for (const made of [a1, a2, b1, b2]) await world.settled(made, 'sent');
  expect(requests()).toEqual([incidentsOf([a1, a2]), incidentsOf([b1, b2])]);
});

it('sends a group that an earlier process let go in one request', async () => {
  const made = [await waiting('a1', 'A'), await waiting('a2', 'A'), await waiting('a3', 'A')];
  await flush('A');
  world.dispatcher.configure([hook()]);
  for (const one of made) await world.settled(one, 'sent');
  expect(requests()).toEqual([incidentsOf(made)]);
});

it('lets nothing join what was in flight alone when the process ended', async () => {
  world.dispatcher.configure([hook(() => undefined)]);
  const first = await waiting('a1', 'A');
  await flush('A');
  release(first);
  await until(() => world.received.length === 1);
  const [lost] = world.received;
  await Promise.all([world.clock.advance(10_000), world.restart()]);
  const second = await waiting('a2', 'A');
  await flush('A');
  world.dispatcher.configure([hook()]);
  await world.settled(first, 'sent');
  await world.settled(second, 'sent');
  const again = world.received.filter(one => one.id === lost?.id);
  expect(again.map(one => one.events.map(event => event.incidentId))).toEqual([
    incidentsOf([first]),
    incidentsOf([first]),
  ]);
});
