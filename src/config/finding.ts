import type { Path } from './yaml-places.ts';

/** One thing wrong between items of notifications.yml, and where. */
export interface Finding {
  readonly path: Path;
  readonly message: string;
}

export interface Findings {
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
}
