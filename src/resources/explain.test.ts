import { expect, it } from 'vitest';
import type { Permission } from '../auth/permissions.ts';
import { systemClock } from '../lib/clock.ts';
import { configureNotification } from '../notifications/notification.ts';
import type { Call } from './context.ts';
import { explain } from './explain.ts';

const notification = (condition: string, conf: object) =>
  configureNotification({ id: 'n', condition, targets: ['log'], conf });

/** What a call with a token of that scope, about a notification, is refused for. */
async function refusal(about: ReturnType<typeof notification>, scope: readonly Permission[]) {
  const context = {
    configuration: () => ({ notifications: [about] }),
    clock: systemClock,
    explainer: { explain: async () => undefined },
  };
  const actor = { kind: 'credential', id: 'c', name: 'c', role: 'reader', tokenScope: new Set(scope) };
  // As much of a call as this comes to.
  const call = { context, actor } as unknown as Call;
  return Promise.resolve(explain.run(call, { notification: 'n' })).then(
    () => undefined,
    (error: Error) => error.message,
  );
}

it('shows the numbers of inputs and outputs to who may read those', async () => {
  const silent = notification('no-data', { name: '*', timeWindow: '5m' });
  const refused = notification('unhealthy-dest', { name: '*', timeWindow: '5m' });
  const unusual = notification('baseline', { name: '*', metric: 'events' });
  expect(await refusal(silent, ['read:notifications'])).toMatch(/read:inputs/);
  expect(await refusal(silent, ['read:notifications', 'read:inputs'])).toBeUndefined();
  expect(await refusal(refused, ['read:notifications', 'read:inputs'])).toMatch(/read:outputs/);
  expect(await refusal(unusual, ['read:notifications', 'read:inputs'])).toMatch(/read:outputs/);
  expect(await refusal(notification('monitor-alerts', {}), ['read:notifications'])).toBeUndefined();
});
