import { reasonOf } from './errors.ts';
import type { LogFields, Logger } from './logger.ts';

/** Keeps what fails again and again to one line: a fault is logged once until it changes or has passed; other numbers are no change. */
export interface CountedLog {
  /** `first` are fields of this one failure, shown when it is the one that is logged. */
  readonly failed: (error: unknown, first?: LogFields) => void;
  readonly recovered: () => void;
}

/** `message` says what cannot be done, `over` that it can be done again. */
export function createCountedLog(
  logger: Logger,
  { fields, message, over }: { fields: LogFields; message: string; over: string },
): CountedLog {
  let loggedKind: string | undefined;
  return {
    failed(error, first) {
      const reason = reasonOf(error);
      const kind = reason.replace(/\d+/g, '#');
      if (kind === loggedKind) return;
      loggedKind = kind;
      logger.error({ ...fields, ...first, reason }, message);
    },
    recovered() {
      if (loggedKind === undefined) return;
      loggedKind = undefined;
      logger.info(fields, over);
    },
  };
}
