import { ignoreClosedPipes } from './cli/output/output.ts';
import { runCli } from './cli/root.ts';

ignoreClosedPipes();
process.exitCode = await runCli(process.argv.slice(2));
