import { request } from 'node:http';
import * as z from 'zod';
import { ask, type Workspace } from './workspace.ts';

/** Asks for more than each quota allows, until it is ended, and writes how often each was refused when its input ends. */
const workspace: Workspace = z
  .object({ port: z.number(), host: z.string(), token: z.string() })
  .parse(JSON.parse(process.argv[2] ?? '{}'));

const counts = new Map<string, number>();
const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);

function repeat(what: string, perSecond: number, run: (number: number) => Promise<{ status: number }>): void {
  let number = 0;
  setInterval(() => {
    run(number++).then(
      ({ status }) => count(`${what} ${status}`),
      () => count(`${what} failed`),
    );
  }, 1000 / perSecond).unref();
}

const samples = JSON.stringify({
  samples: Array.from({ length: 200 }, (_, at) => ({
    kind: 'input',
    id: `input-${at}`,
    metric: 'in_events',
    value: Date.now(),
  })),
});
const event = (number: number): string =>
  JSON.stringify({
    condition: 'monitor-alerts',
    key: `k${number % 100}`,
    state: number % 200 < 100 ? 'ALARM' : 'OK',
  });

repeat('request', 150, () => ask(workspace, '/api/v1/notifications'));
repeat('change', 2, number =>
  ask(workspace, '/api/v1/notifications/heavy0', {
    method: 'PATCH',
    body: JSON.stringify({ description: `number ${number}` }),
  }),
);
repeat('event', 60, number =>
  ask(workspace, '/ingest/events', { method: 'POST', body: event(number), ingest: true }),
);
repeat('samples', 20, () =>
  ask(workspace, '/ingest/samples', { method: 'POST', body: samples, ingest: true }),
);
for (let stream = 0; stream < 30; stream++) {
  const headers = { host: `${workspace.host}:${workspace.port}`, authorization: `Bearer ${workspace.token}` };
  const call = request({ host: '127.0.0.1', port: workspace.port, path: '/api/v1/stream', headers });
  call.on('response', response => {
    count(`stream ${response.statusCode}`);
    response.resume();
  });
  call.on('error', () => count('stream failed'));
  call.end();
}
process.stdin.on('data', () => {
  process.stdout.write(`${JSON.stringify(Object.fromEntries([...counts].sort()))}\n`, () => process.exit(0));
});
