import type { Check } from '../../config/check.ts';

/** The same as `headgate check --json` prints. */
export const wireCheck = ({ ok, errors, warnings }: Check): object => ({ ok, errors, warnings });
