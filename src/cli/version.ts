import { Command } from 'commander';
import { VERSION } from '../lib/version.ts';
import { asJson, ask } from './ask.ts';
import { EXIT, type Finish } from './exit.ts';
import { print } from './output.ts';
import { type ServerFlags, withServer } from './session.ts';

interface VersionFlags extends ServerFlags {
  readonly server?: boolean;
}

export const versionCommand = (finish: Finish): Command =>
  withServer(new Command('version').description('print the version'))
    .option('--server', 'of the server that is logged in to as well')
    .action(async (flags: VersionFlags) => {
      if (flags.server)
        return ask(finish, flags, async ({ client }) =>
          tell({ version: VERSION, server: (await client.system.info()).version }, flags),
        );
      tell({ version: VERSION }, flags);
      finish(EXIT.ok);
    });

function tell(
  versions: { readonly version: string; readonly server?: string },
  { json }: VersionFlags,
): void {
  if (json) print(asJson(versions));
  else
    print(
      versions.server === undefined ? versions.version : `${versions.version}, server ${versions.server}`,
    );
}
