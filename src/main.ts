import { runCli } from './cli/root.ts';

process.exitCode = await runCli(process.argv.slice(2));
