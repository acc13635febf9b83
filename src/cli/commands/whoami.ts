import { Command } from 'commander';
import type { Finish } from '../output/output.ts';
import { printItem } from '../output/table.ts';
import { runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

export const whoamiCommand = (finish: Finish): Command =>
  withServerOptions(new Command('whoami').description('show who is logged in, where, for how long')).action(
    (flags: ServerFlags) =>
      runOnServer(finish, flags, async ({ client, profile, url, expiresAt }) => {
        const { name, role, permissions } = await client.auth.me();
        const login = {
          url,
          ...(profile !== undefined && { profile }),
          ...(expiresAt !== undefined && { until: new Date(expiresAt).toISOString() }),
        };
        printItem({ name, role, ...login, ...(flags.json && { permissions }) }, flags);
      }),
  );
