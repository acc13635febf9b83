import { Command } from 'commander';
import { ask, printItem } from './ask.ts';
import type { Finish } from './exit.ts';
import { type ServerFlags, withServer } from './session.ts';

export const whoamiCommand = (finish: Finish): Command =>
  withServer(new Command('whoami').description('tell who is logged in, where, for how long')).action(
    (flags: ServerFlags) =>
      ask(finish, flags, async ({ client, profile, url, expiresAt }) => {
        const { name, role, permissions } = await client.auth.me();
        const login = {
          url,
          ...(profile !== undefined && { profile }),
          ...(expiresAt !== undefined && { until: new Date(expiresAt).toISOString() }),
        };
        printItem({ name, role, ...login, ...(flags.json && { permissions }) }, flags);
      }),
  );
