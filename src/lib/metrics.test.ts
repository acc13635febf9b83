import { expect, it } from 'vitest';
import { createMetrics } from './metrics.ts';

const MOST_SERIES = 1000;

const linesOf = (text: string, name: string): string[] =>
  text.split('\n').filter(line => line.startsWith(name));

it('writes a metric of several parts once, each series with the labels of its part', async () => {
  const metrics = createMetrics();
  const described = { name: 'sent_total', help: 'What was sent.', labels: ['target'] } as const;
  for (const workspace of ['a', 'b']) metrics.withLabels({ workspace }).counter(described)({ target: 'ops' });
  metrics.gauge({ name: 'up', help: 'Whether it is.', labels: [] }, set => set({}, 1));
  expect(await metrics.text()).toBe(`# HELP up Whether it is.
# TYPE up gauge
up 1

# HELP sent_total What was sent.
# TYPE sent_total counter
sent_total{target="ops",workspace="a"} 1
sent_total{target="ops",workspace="b"} 1
`);
});

it('writes nothing of a part that has ended', async () => {
  const metrics = createMetrics();
  const part = metrics.withLabels({ workspace: 'a' });
  part.gauge({ name: 'up', help: 'Whether it is.', labels: [] }, set => set({}, 1));
  expect(await metrics.text()).toContain('up{workspace="a"} 1');
  part.end();
  expect(await metrics.text()).not.toContain('up');
});

it('counts as others in a part what it has no room for, however many names are made up', async () => {
  const metrics = createMetrics();
  const part = metrics.withLabels({ workspace: 'a' });
  const count = part.counter({ name: 'sent_total', help: 'What was sent.', labels: ['target', 'state'] });
  const took = part.histogram({ name: 'took', help: 'How long.', labels: ['target'], buckets: [1] });
  for (let n = 0; n < MOST_SERIES + 100; n++) {
    count({ target: `t${n}`, state: 'sent' });
    took({ target: `t${n}` }, 0);
  }
  count({ target: 't0', state: 'sent' });
  const text = await metrics.text();
  expect(linesOf(text, 'sent_total')).toHaveLength(MOST_SERIES + 1);
  expect(text).toContain('sent_total{target="t0",state="sent",workspace="a"} 2');
  expect(text).toContain('sent_total{target="(other)",state="(other)",workspace="a"} 100');
  expect(linesOf(text, 'took_count')).toHaveLength(MOST_SERIES + 1);
});
