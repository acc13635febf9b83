import { describe, expect, it } from 'vitest';
import { type Bench, startBench, URL_OF, vectorAt } from '../../../test/helpers/monitor.ts';
import { HttpFailure } from '../../lib/http/failure.ts';

const DOWN = new HttpFailure('refused', 'connection refused');
const MINUTE = 60_000;

const line = (id: string, value: number, extra = ''): string =>
  `vector_component_received_events_total{component_id="${id}",component_kind="source",component_type="syslog"${extra}} ${value}\n`;

const presence = (bench: Bench, id = 'app') => bench.monitor.components.presence(bench.find(id));

const GONE = { presence: 'gone', reason: 'its page no longer names it' };
const PRESENT = { presence: 'present', reason: null };

describe('an input of a page', () => {
  it('is gone when a good page no longer names it, and present when one does again', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 1) + line('web', 1));
    expect(presence(bench)).toEqual(PRESENT);
    await bench.scrape(line('web', 2));
    expect([presence(bench), presence(bench, 'web')]).toEqual([GONE, PRESENT]);
    expect(bench.status('app')).toMatchObject({ presence: 'gone', health: 'Unknown', error: GONE.reason });
    await bench.scrape(line('app', 1) + line('web', 3));
    expect(presence(bench)).toEqual(PRESENT);
  });

  it('is gone from a page of its engine on which nothing else is', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 1));
    await bench.scrape('vector_uptime_seconds 20\n');
    expect(presence(bench)).toEqual(GONE);
    expect(bench.monitor.components.pipeline('edge')).toMatchObject({ state: 'reachable', error: null });
  });

  it('is unknown while its page cannot be read, and Red once three readings in a row have failed', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 1));
    const healths: string[] = [];
    for (let reading = 0; reading < 3; reading++) {
      await bench.scrape(DOWN);
      expect(presence(bench)).toEqual({
        presence: 'unknown',
        reason: 'pipeline unreachable: http://edge.test: connection refused',
      });
      healths.push(bench.status('app').health);
    }
    expect(healths).toEqual(['Unknown', 'Unknown', 'Red']);
    expect(bench.monitor.components.unreadMs(bench.find('app'))).toBe(35_000);
    await bench.scrape(line('app', 1));
    expect([bench.status('app').health, bench.monitor.components.unreadMs(bench.find('app'))]).toEqual([
      'Green',
      0,
    ]);
  });

  it('is unknown when the lines that cannot be read may have been its own', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 1) + line('web', 1));
    await bench.scrape(`${line('web', 2)}rubbish\n`);
    expect(presence(bench)).toMatchObject({ presence: 'unknown' });
    await bench.scrape(line('web', 3));
    expect(presence(bench)).toEqual(GONE);
  });

  it('is unknown after a restart until its page was read', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 1) + line('web', 1));
    await bench.restart();
    expect(presence(bench)).toEqual({ presence: 'unknown', reason: 'its pipeline has not been read yet' });
    await bench.scrape(DOWN);
    expect(presence(bench).reason).toMatch(/^pipeline unreachable: http:\/\/edge\.test: /);
    await bench.scrape(line('web', 2));
    expect(presence(bench)).toEqual(GONE);
  });

  it('is present as long as one of its instances has it', async () => {
    const bench = await startBench(vectorAt('edge'));
    await bench.scrape(line('app', 1, ',instance="a"') + line('app', 1, ',instance="b"'));
    await bench.scrape(line('app', 2, ',instance="b"'));
    expect(presence(bench)).toEqual(PRESENT);
    expect(bench.status('app')).toMatchObject({ health: 'Green', healthCounts: { Green: 1, Unknown: 1 } });
    await bench.scrape(line('web', 2, ',instance="b"'));
    expect(presence(bench)).toEqual(GONE);
  });
});

describe('an input of a pipeline that pushes', () => {
  const push = (bench: Bench, id: string, instance = 'one') =>
    bench.monitor.ingestSamples('edge', {
      instance,
      samples: [{ kind: 'input', type: 'http', id, metric: 'in_events', value: 1 }],
    });

  it('is gone when its sender pushes on without it, and unknown when it does not push at all', async () => {
    const bench = await startBench({ id: 'edge', engine: 'custom', push: true, token: 'token of the edge' });
    for (const id of ['app', 'web']) await push(bench, id);
    for (let minute = 0; minute < 14; minute++) {
      await bench.clock.advance(MINUTE);
      await push(bench, 'web');
    }
    expect(presence(bench)).toEqual(PRESENT);
    await bench.clock.advance(MINUTE);
    expect(presence(bench)).toEqual({ presence: 'gone', reason: 'its sender no longer names it' });
    await bench.clock.advance(15 * MINUTE);
    for (const id of ['app', 'web'])
      expect(presence(bench, id)).toEqual({
        presence: 'unknown',
        reason: 'nothing came from one for a while',
      });
  });

  it('is unknown after a restart until a push names it, and gone when none does', async () => {
    const bench = await startBench({ id: 'edge', engine: 'custom', push: true, token: 'token of the edge' });
    for (const id of ['app', 'web']) await push(bench, id);
    await bench.restart();
    expect(presence(bench)).toEqual({ presence: 'unknown', reason: 'nothing was pushed for a while' });
    await push(bench, 'web');
    expect(presence(bench)).toEqual({ presence: 'unknown', reason: 'no push has named it yet' });
    await bench.clock.advance(15 * MINUTE);
    await push(bench, 'web');
    expect(presence(bench).presence).toBe('gone');
  });
});

it('is unreachable only where the page is: of another engine it says so', async () => {
  const bench = await startBench({ id: 'edge', engine: 'vector', url: URL_OF('edge') });
  await bench.scrape(line('app', 5));
  await bench.scrape('node_load1 0.1\nnode_load5 0.2\n');
  expect(presence(bench).presence).toBe('unknown');
  expect(presence(bench).reason).toContain('2 series, none that engine vector is known by');
  await bench.scrape(line('app', 9));
  expect(bench.status('app')).toMatchObject({ presence: 'present', metrics: { in_events: 4 } });
});
