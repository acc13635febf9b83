import { until } from '../acceptance/until.ts';

/** Waits until `check` holds, for what real disks and sockets of this process decide. */
export const eventually = (check: () => boolean | Promise<boolean>, what = 'the condition'): Promise<void> =>
  until(check, what);
