import type { CheckFindings } from '../../config/check.ts';

/** The same as `headgate check --json` prints. */
export const wireCheck = ({ ok, errors, warnings }: CheckFindings): object => ({ ok, errors, warnings });
