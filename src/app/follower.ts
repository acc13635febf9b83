import { AppError } from '../lib/errors.ts';
import type { Components } from '../pipelines/component.ts';
import type { MinuteRecorder } from '../pipelines/minutes.ts';

/** What a process answers that asks for what only the leading one has; its callers come back in a moment. */
export const notLeading = (): AppError =>
  new AppError('unavailable', 'this process does not lead, and the one that does cannot be asked', {
    retryAfterSeconds: 1,
  });

/** What a process that reads no pipeline knows of inputs and outputs. */
export const NO_COMPONENTS: Components = {
  revision: 0,
  all: () => [],
  status() {
    throw notLeading();
  },
  silentMs: () => 0,
  lastDataAt: () => null,
  knows: () => false,
  measure: () => undefined,
  queueUsage: () => undefined,
  pipeline: () => undefined,
  pipelines: () => [],
};

/** It records none either. */
export const NO_MINUTES: Pick<MinuteRecorder, 'last' | 'recorded'> = {
  last: () => undefined,
  recorded: () => 0,
};
