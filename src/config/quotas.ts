import * as z from 'zod';
import { MOST_INHIBITIONS } from '../notifications/inhibition/inhibition-rule.ts';
import { MOST_COMPONENTS, MOST_SERIES } from '../pipelines/settings.ts';

const upTo = (most: number) => z.int().min(1).max(most);

/**
 * `hosted.quotas`: what one workspace may have of what all workspaces share. The first are counted in its configuration,
 * the others while it runs. What a process counts begins anew with its restart, and each process counts for itself.
 */
export const quotasSchema = z.strictObject({
  pipelines: upTo(10_000).default(100).describe('Pipelines.'),
  targets: upTo(10_000).default(200).describe('Targets.'),
  notifications: upTo(100_000).default(1000).describe('Notifications.'),
  inhibitions: upTo(MOST_INHIBITIONS).default(100).describe('Inhibitions.'),
  logFolders: upTo(1000)
    .default(20)
    .describe(
      'Folders that its targets of type `notifications_log` write in, each with up to 25 MB. Where a new one would be one too many, the one that was written longest ago is removed.',
    ),
  configurationCharacters: upTo(64 * 1024 * 1024)
    .default(1024 * 1024)
    .describe('Characters of all texts of its configuration together.'),
  components: upTo(MOST_COMPONENTS)
    .default(10_000)
    .describe(
      'Inputs and outputs over all its pipelines, whatever their `maxComponents`; further ones are refused, those that are there stay.',
    ),
  series: upTo(MOST_SERIES)
    .default(200_000)
    .describe(
      'Series over all its pipelines, whatever their `maxSeries`; further ones are refused, those that are there stay.',
    ),
  deliveriesPerMinute: upTo(1_000_000)
    .default(6000)
    .describe(
      'Deliveries that are begun in any 60 seconds over all its targets, each attempt of each one counted; further ones wait their turn. Counted by the process that sends for the workspace, anew after a restart.',
    ),
  evaluationMsPerSecond: upTo(1000)
    .default(50)
    .describe(
      'Milliseconds a second that evaluating its notifications may keep the process busy, by the clock. What is over is evaluated later, rounds that take little go before those that took much, and the log names the notification that takes most.',
    ),
  streams: upTo(10_000)
    .default(20)
    .describe('Event streams that are open at a time; a further one is answered 429.'),
  requestsPerSecond: upTo(1_000_000)
    .default(100)
    .describe(
      'Requests of the API a second by all its users together, and twice as many after a pause; a body counts as one more for each 50,000 bytes. Further ones are answered 429.',
    ),
  changesPerMinute: upTo(1_000_000)
    .default(60)
    .describe(
      'Requests of the API a minute that change or check something, by all its users together and as many at once after a pause; further ones are answered 429.',
    ),
  pushesPerSecond: upTo(1_000_000)
    .default(50)
    .describe(
      'Pushes a second over all its pipelines, each posted event of one counted, and twice as many after a pause. A push is taken whole; the next ones are answered 429 until that is made up for.',
    ),
  pushedBytesPerSecond: upTo(1_000_000_000)
    .default(1_000_000)
    .describe(
      'Bytes a second of what is pushed, unpacked, over all its pipelines, and ten times as many after a pause. A push is taken whole; the next ones are answered 429 until that is made up for.',
    ),
});

export type Quotas = z.output<typeof quotasSchema>;
