import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { installation, until } from './harness.ts';

const BIN = join(import.meta.dirname, '../../dist/main.js');

function shell(line: string, environment: Record<string, string>) {
  const child = spawn('sh', ['-c', line], { env: { ...process.env, BIN, ...environment } });
  const ended = once(child, 'close');
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  let err = '';
  child.stdout.on('data', chunk => {
    out += chunk;
  });
  child.stderr.on('data', chunk => {
    err += chunk;
  });
  return { child, ended, out: () => out, err: () => err };
}

it('goes on serving when its log cannot be written', async () => {
  const { config, data } = installation();
  const server = shell('exec node "$BIN" serve --config "$C" --data "$D" --port 0 2>/dev/full', {
    C: config,
    D: data,
  });
  await until(() => server.out().includes('ready'), 'the ready line');
  const url = /http\S+/.exec(server.out())?.[0] ?? '';
  expect((await fetch(`${url}/api/v1/health`)).status).toBe(200);
  server.child.kill('SIGTERM');
  expect(await server.ended).toEqual([0, null]);
});

it('says nothing when nobody reads what a command prints', async () => {
  const { config } = installation({ settings: {} });
  const command = shell('{ node "$BIN" check --effective --config "$C"; echo "ended with $?" >&2; } | true', {
    C: config,
  });
  await command.ended;
  expect(command.err()).toMatch(/^ok: .*\nended with 0\n$/);
});
