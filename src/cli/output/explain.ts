import { HeadgateConnectionError, HeadgateError, HeadgateUsageError } from '@headgate/client';
import { ConfigurationInvalid } from '../../app/configuration-invalid.ts';
import { formatProblem } from '../../config/problems.ts';
import { AppError } from '../../lib/errors.ts';
import { EXIT, type ExitCode, printError } from './output.ts';

/** Prints why a command failed, and answers the exit code. */
export function reportFailure(error: unknown): ExitCode {
  if (error instanceof ConfigurationInvalid) {
    for (const problem of error.problems) printError(formatProblem(problem));
    printError(`${error.problems.length} error(s) in the configuration; nothing was done`);
    return EXIT.invalidConfiguration;
  }
  if (error instanceof HeadgateError) printRefusal(error);
  else if (isMeantForPeople(error)) printError(`headgate: ${error.message}`);
  else printError(`headgate: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return EXIT.failed;
}

/** The message quotes the first problem; further ones are printed below it. */
function printRefusal({ status, message, problems, requestId }: HeadgateError): void {
  const remedy = status === 401 ? '; run headgate login' : '';
  printError(`headgate: ${message}${remedy}`);
  if (problems.length > 1) for (const one of problems) printError(`  ${one.path}: ${one.message}`);
  if (status >= 500 && requestId !== undefined)
    printError(`  the server's log has it as request ${requestId}`);
}

const isMeantForPeople = (error: unknown): error is Error =>
  error instanceof AppError ||
  error instanceof HeadgateConnectionError ||
  error instanceof HeadgateUsageError;
