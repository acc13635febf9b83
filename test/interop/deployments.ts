import { afterAll, beforeAll, describe } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { startApiServer } from '../api/api-server.ts';
import { ask, type HostedAnswer, type HostedCall } from '../helpers/hosted.ts';
import { startHostedApp } from '../helpers/hosted-app.ts';

/** A caller of `/api/v1` in the name of somebody who may do everything there. */
export interface Caller {
  /** Sends JSON unless the body is a buffer. */
  call(method: string, path: string, body?: unknown, more?: HostedCall): Promise<HostedAnswer>;
}

interface Deployment extends Caller {
  stop(): Promise<void>;
}

const STARTS: Readonly<Record<'self-managed' | 'hosted', () => Promise<Deployment>>> = {
  'self-managed': async () => {
    const server = await startApiServer({ settings: { api: { loginRateLimit: '1000/second' } } });
    const token = server.token.replace(/^Bearer /, '');
    return {
      call: (method, path, body, more) =>
        ask(`${server.url}/api/v1${path}`, { token, method, body, ...more }),
      stop: () => server.stop(),
    };
  },
  hosted: async () => {
    const app = await startHostedApp({ clock: systemClock });
    return {
      call: (method, path, body, more) => app.api('main-acme', path, { method, body, ...more }),
      stop: () => app.stop(),
    };
  },
};

/** Runs the tests against a server of its own for each deployment, which begins with an empty configuration. */
export function eachDeployment(
  about: string,
  tests: (caller: Caller, kind: keyof typeof STARTS) => void,
): void {
  for (const kind of ['self-managed', 'hosted'] as const)
    describe(`${about}, ${kind}`, () => {
      let running: Deployment | undefined;
      beforeAll(async () => {
        running = await STARTS[kind]();
      });
      afterAll(() => running?.stop());
      tests(
        {
          call(...request) {
            if (running === undefined) throw new Error('the server does not run yet');
            return running.call(...request);
          },
        },
        kind,
      );
    });
}

/** The items of a successful answer. */
// biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the tests ask.
export async function itemsOf(asked: Promise<HostedAnswer>): Promise<any[]> {
  const { status, body } = await asked;
  if (status !== 200) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return body.items;
}
