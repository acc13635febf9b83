import type { Clock } from '../lib/clock.ts';
import type { HttpClient } from '../lib/http.ts';
import type { Logger } from '../lib/logger.ts';
import type { Intake } from './intake.ts';
import type { OperatorFiles } from './operator-files.ts';
import type { Bounded } from './room.ts';
import type { Rows } from './rows.ts';
import type { Unread } from './scrape.ts';
import type { Slots } from './slots.ts';

/** Told what goes wrong, to be counted. */
export interface PipelineMeter {
  /** A reading brought nothing. */
  unread(pipeline: string, why: Unread): void;
  /** Something more was not taken, as there are as many as allowed. */
  refused(pipeline: string, what: Bounded): void;
}

/** What pipelines share. */
export interface Shared {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly rows: Rows;
  readonly slots: Slots;
  readonly intake: Intake;
  readonly files: OperatorFiles;
  readonly meter: PipelineMeter;
  /** Components that all of them may have together; undefined where nobody bounds them. */
  readonly componentQuota: number | undefined;
}
