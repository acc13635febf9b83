import { outliveReaders } from './cli/output.ts';
import { runCli } from './cli/root.ts';

outliveReaders();
process.exitCode = await runCli(process.argv.slice(2));
