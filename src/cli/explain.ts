import { HeadgateConnectionError, HeadgateError, HeadgateUsageError } from '@headgate/client';
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
  if (error instanceof HeadgateError) refused(error);
  else if (isMeantForPeople(error)) complain(`headgate: ${error.message}`);
  else complain(`headgate: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return EXIT.failed;
}

/** The message quotes the first problem; further ones stand below it. */
function refused({ status, message, problems, requestId }: HeadgateError): void {
  const remedy = status === 401 ? '; run headgate login' : '';
  complain(`headgate: ${message}${remedy}`);
  if (problems.length > 1) for (const one of problems) complain(`  ${one.path}: ${one.message}`);
  if (status >= 500 && requestId !== undefined) complain(`  the server's log has it as request ${requestId}`);
}

const isMeantForPeople = (error: unknown): error is Error =>
  error instanceof AppError ||
  error instanceof HeadgateConnectionError ||
  error instanceof HeadgateUsageError;
