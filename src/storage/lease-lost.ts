import { AppError } from '../lib/errors.ts';
import type { Lease } from './storage.ts';

class LeaseLost extends AppError {}

export const leaseLost = ({ name, owner, epoch }: Lease): AppError =>
  new LeaseLost(
    'conflict',
    `the lease '${name}' is not that of '${owner}' at epoch ${epoch} any more, so nothing was written; another process ` +
      'leads or will',
  );

/** Whether a write was refused because its lease is over or another's: whoever gets this leads no more. */
export const isLeaseLost = (error: unknown): boolean => error instanceof LeaseLost;
