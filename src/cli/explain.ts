import { ConfigurationInvalid } from '../app/invalid.ts';
import { formatProblem } from '../config/problems.ts';
import { AppError } from '../lib/errors.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { complain } from './output.ts';

/** Says what a command failed on, and answers what the process ends with. */
export function explain(error: unknown): ExitCode {
  if (error instanceof ConfigurationInvalid) {
    for (const problem of error.problems) complain(formatProblem(problem));
    complain(`${error.problems.length} error(s) in the configuration; nothing was done`);
    return EXIT.invalidConfiguration;
  }
  if (error instanceof AppError) complain(`headgate: ${error.message}`);
  else complain(`headgate: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return EXIT.failed;
}
