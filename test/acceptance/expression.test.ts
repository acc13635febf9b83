import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Served } from './bin.ts';
import { headgate, installation, serve, sink, stop, until, webhook, writeFileText } from './harness.ts';
import { POSTING } from './posting.ts';

const rule = (expression: string): object => ({
  id: 'ratio',
  condition: 'expression',
  targets: ['hook'],
  conf: { name: 'syslog:app', kind: 'input', timeWindow: '6s', expression },
});

/** Pushes each half second what the input did in it, until the test has finished. */
function feed({ url }: Served) {
  let errors = 0;
  let pushes = 0;
  const push = async (): Promise<void> => {
    const samples = Object.entries({ in_events: 100, errors }).map(([metric, value]) => ({
      kind: 'input',
      type: 'syslog',
      id: 'app',
      metric,
      value,
    }));
    await fetch(`${url}/ingest/samples`, {
      method: 'POST',
      headers: { authorization: `Bearer ${POSTING.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ temporality: 'delta', samples }),
    });
    pushes++;
  };
  const timer = setInterval(() => void push().catch(() => {}), 500);
  const end = (): void => clearInterval(timer);
  onTestFinished(end);
  return {
    end,
    pushes: () => pushes,
    fail: (count: number): void => {
      errors = count;
    },
  };
}

it('rises with what is pushed for which it is true, and resolves when it is true no more', async () => {
  const hook = await sink();
  const server = await serve(
    installation({
      settings: { pipelines: [POSTING] },
      notifications: {
        targets: [webhook('hook', hook)],
        notifications: [rule('errors > 0.01 * in_events && in_events > 100')],
      },
    }),
  );
  const { end, fail, pushes } = feed(server);
  await until(() => pushes() > 18, 'more than a window');
  expect(hook.events()).toEqual([]);
  fail(50);
  await until(() => hook.events().length > 0, 'the alarm');
  fail(0);
  await until(() => hook.events().length > 1, 'the end');
  expect(hook.events()).toMatchObject([
    {
      status: 'ALARM',
      condition: 'expression',
      input: 'syslog:app',
      expression: 'errors > 0.01 * in_events && in_events > 100',
      timeWindow: '6s',
      values: { errors: expect.any(Number), in_events: expect.any(Number) },
      _raw: expect.stringMatching(/^syslog:app: errors > .* held in 6s \(errors /),
    },
    { status: 'OK', input: 'syslog:app', _raw: expect.stringContaining('holds no more after') },
  ]);
  end();
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  expect(hook.refusals).toEqual([]);
});

const FILE = (expression: string): string => `targets:
  - { id: bell, type: bulletin_message }
notifications:
  - id: ratio
    condition: expression
    targets: [bell]
    conf:
      name: '*'
      expression: ${expression}
`;

it.each([
  ['in_evnts > 1000', 3, /^error: (\S+): .*does not know 'in_evnts'; the names are in_events, .* \((\S+)\)$/],
  [
    'errors + 1',
    0,
    /^warning: (\S+): fails on a component: it gives a number, and must give true or false \((\S+)\)$/,
  ],
])('is named by check with its place when it is %s, with exit code %i', async (expression, exit, message) => {
  const { config } = installation({ settings: {} });
  writeFileText(config, 'notifications.yml', FILE(expression));
  const { code, stdout } = await headgate(['check', '--config', config]);
  const [, place, path] = message.exec(stdout.split('\n')[0] ?? '') ?? [stdout];
  expect([place, path]).toEqual([
    `${join(config, 'notifications.yml')}:9:19`,
    'notifications[0].conf.expression',
  ]);
  expect(code).toBe(exit);
});
