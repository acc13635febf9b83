import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { FILES, type FileName } from '../../config/configuration.ts';
import { AppError, codeOf } from '../../lib/errors.ts';
import type { Finish } from '../output/output.ts';
import { printItem } from '../output/table.ts';
import { runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

/** `headgate config export|import`: the configuration of a server as files. */
export const configCommand = (finish: Finish): Command =>
  new Command('config')
    .description('the configuration as files')
    .addCommand(exportCommand(finish))
    .addCommand(importCommand(finish));

const folderArgument = (description: string): Argument => new Argument('<folder>', description);

const exportCommand = (finish: Finish): Command =>
  withServerOptions(new Command('export').description('write the files, the secrets in them masked'))
    .addArgument(folderArgument('where to; files that are there already are refused'))
    .action((folder: string, flags: ServerFlags) =>
      runOnServer(finish, flags, async ({ client }) => {
        const { files } = await client.configuration.export();
        await mkdir(folder, { recursive: true });
        for (const [name, text] of Object.entries(files)) await writeNew(join(folder, name), text);
        printItem({ folder, files: Object.keys(files) }, flags);
      }),
    );

interface ImportFlags extends ServerFlags {
  readonly message?: string;
}

const importCommand = (finish: Finish): Command =>
  withServerOptions(
    new Command('import').description('let the files of a folder take effect, all of them or none'),
  )
    .addArgument(folderArgument(`holds any of ${FILES.join(', ')}; what is not there stays as it is`))
    .option('--message <text>', 'what the version says of it')
    .action((folder: string, { message, ...flags }: ImportFlags) =>
      runOnServer(finish, flags, async ({ client }) => {
        const files = await textsIn(folder);
        await client.configuration.import({ body: { files, ...(message !== undefined && { message }) } });
        printItem({ folder, files: Object.keys(files) }, flags);
      }),
    );

async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new AppError('conflict', `${path} is there already; name an empty folder`);
  }
}

/** Throws `not-found` for a folder without any of them. */
async function textsIn(folder: string): Promise<Partial<Record<FileName, string>>> {
  const files: Partial<Record<FileName, string>> = {};
  for (const name of FILES) {
    const text = await readFile(join(folder, name), 'utf8').catch(error => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (text !== undefined) files[name] = text;
  }
  if (Object.keys(files).length > 0) return files;
  throw new AppError('not-found', `there is none of ${FILES.join(', ')} in '${folder}'`);
}
