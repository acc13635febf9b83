import { expect, it } from 'vitest';
import { startAsking } from '../../test/helpers/asking.ts';
import { noDataDest } from './no-data-dest.ts';

it('is an alarm for an output that sent nothing for the window', async () => {
  const { push, ask, bench } = await startAsking(noDataDest);
  await push({ out_events: 1 });
  await bench.clock.advance(59_999);
  expect(ask()).toMatchObject({ state: 'ok' });
  await bench.clock.advance(1);
  expect(ask()).toMatchObject({
    state: 'alarm',
    text: 'Destination syslog:app had no data for 60s',
    fields: { _metric: 'total.out_bytes', bytes: 0 },
  });
  await push({ out_events: 1 });
  expect(ask({ ms: 15_000, observedMs: 15_000 })).toMatchObject({
    state: 'ok',
    text: 'Destination syslog:app is sending data again after 1m 15s',
  });
});
