import type { Clock } from '../lib/clock.ts';
import type { MonotonicIds } from '../lib/ids.ts';
import type { KeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import type { Secret } from '../lib/secret.ts';
import type { Storage } from '../storage/storage.ts';

/** What all workspaces of a process have in common. */
export interface Shared {
  readonly storage: Storage;
  /** Whether other processes have the same store. */
  readonly isShared: boolean;
  readonly keyRing: KeyRing;
  /** Of the digests of issued secrets. */
  readonly pepper: Secret;
  /** Absolute. */
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly ids: MonotonicIds;
  readonly random: () => number;
  readonly logger: Logger;
}
