import { expect, it } from 'vitest';
import { openTestStorage } from '../../test/helpers/storage.ts';
import { opening } from '../../test/helpers/transitions.ts';
import { monotonicIds } from '../lib/ids.ts';
import { continueIds } from './continue-ids.ts';

it.each([
  ['a delivery', ['hook']],
  ['an incident that was told to nobody', []],
])('makes ids that follow %s of before, whatever the clock says', async (_, targets) => {
  const store = await openTestStorage();
  try {
    const { operation } = opening({ targets });
    await store.storage.commit(operation);
    const ids = monotonicIds({ now: () => 1_000_000 });
    await continueIds(ids, store.storage.in('default'));
    expect(ids.next() > (operation.deliveries[0]?.id ?? operation.incident.id)).toBe(true);
  } finally {
    await store.close();
  }
});
