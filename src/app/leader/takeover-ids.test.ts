import { expect, it } from 'vitest';
import { openTestStorage } from '../../../test/helpers/storage.ts';
import { opening } from '../../../test/helpers/transitions.ts';
import { versionRow } from '../../../test/storage/rows.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { continueIds } from './takeover.ts';

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

it('makes ids that follow the last version of the configuration', async () => {
  const store = await openTestStorage();
  try {
    const version = versionRow();
    await store.storage.transaction(tx => tx.in('default').addVersion(version));
    const ids = monotonicIds({ now: () => 1_000_000 });
    await continueIds(ids, store.storage.in('default'));
    expect(ids.next() > version.id).toBe(true);
  } finally {
    await store.close();
  }
});
