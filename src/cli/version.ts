import { Command } from 'commander';
import { VERSION } from '../lib/version.ts';
import { EXIT, type Finish } from './exit.ts';
import { print } from './output.ts';

export const versionCommand = (finish: Finish): Command =>
  new Command('version').description('print the version').action(() => {
    print(VERSION);
    finish(EXIT.ok);
  });
