import { reasonOf } from './errors.ts';
import type { Logger } from './logger.ts';

/** Keeps what fails again and again to one line: a fault is logged once until it changes or has passed; other numbers are no change. */
export interface FaultLog {
  failed(error: unknown): void;
  passed(): void;
}

/** `message` says what cannot be done, `over` that it can be done again. */
export function createFaultLog(
  logger: Logger,
  { fields, message, over }: { fields: Readonly<Record<string, unknown>>; message: string; over: string },
): FaultLog {
  let told: string | undefined;
  return {
    failed(error) {
      const reason = reasonOf(error);
      const kind = reason.replace(/\d+/g, '#');
      if (kind === told) return;
      told = kind;
      logger.error({ ...fields, reason }, message);
    },
    passed() {
      if (told === undefined) return;
      told = undefined;
      logger.info(fields, over);
    },
  };
}
