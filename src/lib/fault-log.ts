import { reasonOf } from './errors.ts';
import type { Fields, Logger } from './logger.ts';

/** Keeps what fails again and again to one line: a fault is logged once until it changes or has passed; other numbers are no change. */
export interface FaultLog {
  /** `first` are fields of this one failure, shown when it is the one that is told. */
  failed(error: unknown, first?: Fields): void;
  passed(): void;
}

/** `message` says what cannot be done, `over` that it can be done again. */
export function createFaultLog(
  logger: Logger,
  { fields, message, over }: { fields: Fields; message: string; over: string },
): FaultLog {
  let told: string | undefined;
  return {
    failed(error, first) {
      const reason = reasonOf(error);
      const kind = reason.replace(/\d+/g, '#');
      if (kind === told) return;
      told = kind;
      logger.error({ ...fields, ...first, reason }, message);
    },
    passed() {
      if (told === undefined) return;
      told = undefined;
      logger.info(fields, over);
    },
  };
}
