import type { HeadgateEvent } from '../../src/events/event.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createHttpClient } from '../../src/lib/http/client.ts';
import { findTargetType } from '../../src/targets/index.ts';
import type { Outcome } from '../../src/targets/outcome.ts';
import { noDial } from './no-http.ts';

/** Sends events once to a target of these settings, over the product's own HTTP client. */
export async function sendOnce(
  settings: { readonly type: string; readonly [key: string]: unknown },
  events: readonly HeadgateEvent[],
): Promise<Outcome> {
  const target = findTargetType(settings.type)?.configure({ id: 't', ...settings });
  if (target === undefined) throw new Error(`there is no type ${settings.type}`);
  const clock = systemClock;
  const http = createHttpClient({ privateAddresses: 'allow', allowedAddresses: [], clock });
  try {
    const { signal } = new AbortController();
    return await target.send(events, {
      deliveryId: 'd1',
      http,
      dial: noDial,
      secretOf: () => undefined,
      clock,
      signal,
      logFolder: '/nowhere',
    });
  } finally {
    await http.close();
  }
}
