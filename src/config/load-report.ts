import type { Logger } from '../lib/logger.ts';
import type { LoadResult } from './load.ts';
import { formatProblem } from './problems.ts';

/** Logs what a load brought; the same errors and warnings once, until they change. */
export function reportLoad(result: LoadResult, before: LoadResult | undefined, logger: Logger): void {
  const warnings = result.warnings.map(formatProblem);
  if (!isSame(warnings, before?.warnings.map(formatProblem) ?? []) && warnings.length > 0)
    logger.warn({ warnings: warnings.slice(0, LOGGED) }, 'the configuration has warnings');
  if (result.ok) {
    const { targets, notifications, settings } = result.configuration;
    const counts = {
      pipelines: settings.pipelines.length,
      targets: targets.length,
      notifications: notifications.length,
    };
    logger.info(counts, 'configuration loaded');
    return;
  }
  const errors = result.problems.map(formatProblem);
  const told = before?.ok === false ? before.problems.map(formatProblem) : [];
  if (!isSame(errors, told))
    logger.error(
      { errors: errors.slice(0, LOGGED), count: errors.length },
      'configuration refused, nothing changed',
    );
}

/** Lines of one log record; the status has them all. */
const LOGGED = 20;

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text, index) => text === other[index]);
