import { Command } from 'commander';
import { VERSION } from '../../lib/version.ts';
import { EXIT, type Finish, print } from '../output/output.ts';
import { asJson } from '../output/table.ts';
import { runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

interface VersionFlags extends ServerFlags {
  readonly server?: boolean;
}

export const versionCommand = (finish: Finish): Command =>
  withServerOptions(new Command('version').description('print the version'))
    .option('--server', 'of the server that is logged in to as well')
    .action(async (flags: VersionFlags) => {
      if (flags.server)
        return runOnServer(finish, flags, async ({ client }) =>
          printVersions({ version: VERSION, server: (await client.system.info()).version }, flags),
        );
      printVersions({ version: VERSION }, flags);
      finish(EXIT.ok);
    });

function printVersions(
  versions: { readonly version: string; readonly server?: string },
  { json }: VersionFlags,
): void {
  if (json) print(asJson(versions));
  else
    print(
      versions.server === undefined ? versions.version : `${versions.version}, server ${versions.server}`,
    );
}
