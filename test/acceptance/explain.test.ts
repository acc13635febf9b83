import { expect, it } from 'vitest';
import { login } from './client.ts';
import { headgate, installation, serve, writeFileText } from './harness.ts';

it('explains on the command line from the top down, in JSON, and of an event from a file', async () => {
  const folders = installation({
    notifications: {
      targets: [
        { id: 'hook', type: 'webhook', url: 'http://127.0.0.1:9/hooks/team', authType: 'none' },
        { id: 'by_all', type: 'router', routes: [{ filter: 'true', output: 'hook' }] },
      ],
      notifications: [
        {
          id: 'app_silent',
          condition: 'no-data',
          targets: ['by_all'],
          conf: { name: 'syslog:app', timeWindow: '1d' },
        },
        { id: 'alerts', condition: 'monitor-alerts', targets: ['hook'], conf: {} },
      ],
    },
  });
  const server = await serve(folders);
  const { token } = await login(server.url);
  const environment = { HEADGATE_URL: server.url, HEADGATE_TOKEN: token.replace(/^Bearer /, '') };
  const run = (...args: string[]) => headgate(['explain', ...args], environment);

  const { code, stdout } = await run('app_silent');
  expect(code).toBe(0);
  const places = [
    'notification app_silent at ',
    'Notification app_silent (no-data, warn): 1 matched, 0 with an open incident',
    'syslog:app: ok',
    'time without data: ',
    '; at least 1d is an alarm',
    'at the earliest, if no data comes until then',
    'Source syslog:app had no data for 1d: it was never seen',
    'hook (webhook) by by_all, routes[0] (true)',
    'POST http://127.0.0.1:9/hooks/team',
  ].map(text => stdout.indexOf(text));
  expect(places, stdout).not.toContain(-1);
  expect(places).toEqual(places.toSorted((one, other) => one - other));

  const json = JSON.parse((await run('notification', 'app_silent', '--json')).stdout);
  expect(json.notifications[0]).toMatchObject({ notification: 'app_silent', subjects: [{ state: 'ok' }] });

  const event = { condition: 'monitor-alerts', key: 'cpu', state: 'ALARM', fields: { value: 9 } };
  const file = writeFileText(folders.root, 'event.json', JSON.stringify(event));
  expect((await run('--event', file)).stdout).toContain('[ALARM] Monitor cpu is firing: 9');

  const reported = await headgate(['report', '--since', '1d'], environment);
  expect([reported.code, reported.stderr]).toEqual([0, '']);
  for (const text of [
    ': 0 incidents\n',
    'Time to notify: - (p50), - (p99), of 0 incidents',
    'Noisiest notifications\nno incidents',
    'Incidents that nobody acknowledged: 0',
    'Targets that failed\nnone',
    'Inputs and outputs without any notification: 0',
  ])
    expect(reported.stdout).toContain(text);
  const past = await headgate(['report', '--since', '2d', '--until', '1d', '--json'], environment);
  const { since, until } = JSON.parse(past.stdout);
  expect(Date.parse(until) - Date.parse(since)).toBe(86_400_000);

  const unknown = await run('app_silen');
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("did you mean 'app_silent'?")]);
});
