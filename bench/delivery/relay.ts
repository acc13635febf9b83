import { join } from 'node:path';
import { run } from '../../test/acceptance/bin.ts';
import { until } from '../../test/helpers/until.ts';
import { bundle } from './bundle.ts';
import { filled, type RunningSystem, type Setup } from './system.ts';
import { temporaryFolder } from './temporary.ts';

/** A floor to hold others against: no store, no rules, no retries. */
export const relay = { name: 'bare relay', version: process.version, start };

async function start({ hooks }: Setup): Promise<RunningSystem> {
  const script = await bundle(join(import.meta.dirname, 'relay-process.ts'), temporaryFolder());
  const running = run(process.execPath, [script, hooks[0]?.url ?? ''], process.env);
  const origin = () => /^ready on (\S+)$/m.exec(running.stdout())?.[1];
  await until(() => origin() !== undefined, 'a ready relay');
  return {
    pid: running.pid,
    origin: origin() ?? '',
    request: (events, sent) => ({
      path: '/',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(
        events.map(({ key, state }) => filled(text => ({ key, status: state, sent, text }))),
      ),
    }),
    reload: () => Promise.reject(new Error('the relay has no configuration')),
    list: { path: '/', headers: {} },
    kill: running.kill,
  };
}
