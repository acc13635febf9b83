import * as z from 'zod';
import { invalidField } from '../auth/users/user.ts';
import { parseDuration } from '../lib/duration.ts';
import { AppError, notFound } from '../lib/errors.ts';
import { identifier } from '../lib/schemas.ts';
import { askingMatchers } from '../notifications/matchers.ts';
import type { SilenceRow } from '../storage/stores/silences.ts';
import type { WorkspaceContext } from './context.ts';
import { pageQuery, pageRequest, toListPage } from './paging.ts';
import { defineVerb } from './verb.ts';

/** A bound on what each transition is matched with. */
const MOST_SILENCES = 10_000;
/** One that waits for the end of incidents does not outlive them for ever. */
const LONGEST_UNTIL_RESOLVED_MS = parseDuration('7d') ?? 0;
/** Incidents that are shown of a silence; the list of incidents has all. */
const MOST_SHOWN = 100;

export interface DescribedSilence {
  readonly row: SilenceRow;
  /** At the time of the answer, epoch ms. */
  readonly now: number;
}

/** A silence with the newest incidents that it held back. */
export interface SilenceDetails extends DescribedSilence {
  readonly incidents: readonly {
    readonly id: string;
    readonly notification: string;
    readonly subject: string;
  }[];
  readonly incidentCount: number;
}

/** Newest first. */
export const listSilences = defineVerb({
  permission: 'read:silences',
  input: z.object({ ...pageQuery, state: z.enum(['pending', 'active', 'expired']).optional() }),
  async run({ context }, query) {
    const now = context.clock.now();
    const { state } = query;
    const page = await context.stores.silences.list({ state, now }, pageRequest(query));
    return toListPage(query, page, (row): DescribedSilence => ({ row, now }));
  },
});

export const getSilence = defineVerb({
  permission: 'read:silences',
  input: z.object({ id: z.string().max(512) }),
  run: ({ context }, { id }): Promise<SilenceDetails> => detailsOf(context, id),
});

async function detailsOf({ stores, clock }: WorkspaceContext, id: string): Promise<SilenceDetails> {
  const row = await stores.silences.get(id);
  if (row === undefined) throw notFound('silence', id);
  const { rows, total } = await stores.incidents.list({ silence: id }, { offset: 0, limit: MOST_SHOWN });
  return { row, now: clock.now(), incidents: rows, incidentCount: total };
}

const time = z.iso.datetime({ offset: true });
const comment = z.string().min(1).max(1024).describe('Why, for those who wonder about the quiet.');

const newSilence = z.strictObject({
  id: identifier.optional().describe('Left out, one is made.'),
  matchers: askingMatchers.describe('All of them must fit an event.'),
  startsAt: time.optional().describe('By default now.'),
  endsAt: time.optional().describe('Needed, but for `until`.'),
  until: z
    .literal('resolved')
    .optional()
    .describe('It ends with the last incident that it held back; 7 days after its start at the latest.'),
  comment,
});

/** Throws `invalid-request` for a span of time that is none or over, `conflict` where there are too many. */
export const createSilence = defineVerb({
  permission: 'update:silences',
  input: z.object({ body: newSilence }),
  async run({ actor, context }, { body }): Promise<DescribedSilence> {
    const now = context.clock.now();
    const row: SilenceRow = {
      id: body.id ?? context.newId(),
      matchers: JSON.stringify(body.matchers),
      ...spanOf(body, now),
      until_resolved: body.until === 'resolved' ? 1 : 0,
      comment: body.comment,
      created_by: actor.name,
      created_at: now,
    };
    await context.transaction(async tx => {
      await tx.addSilence(row);
      if ((await tx.countUnexpiredSilences(now)) > MOST_SILENCES)
        throw new AppError('conflict', `there are ${MOST_SILENCES} silences already; expire one first`);
    });
    await context.refreshSilences();
    return { row, now };
  },
});

function spanOf(
  { startsAt, endsAt, until }: Pick<z.output<typeof newSilence>, 'startsAt' | 'endsAt' | 'until'>,
  now: number,
): Pick<SilenceRow, 'starts_at' | 'ends_at'> {
  const starts = startsAt === undefined ? now : Math.max(now, Date.parse(startsAt));
  const latest = until === 'resolved' ? starts + LONGEST_UNTIL_RESOLVED_MS : undefined;
  if (endsAt === undefined && latest === undefined)
    throw invalidField(
      'endsAt',
      'is needed; or set until: resolved, to end with the last incident held back',
    );
  const ends = endsAt === undefined ? (latest ?? 0) : Date.parse(endsAt);
  if (ends <= now) throw invalidField('endsAt', 'must be later than now');
  if (ends <= starts) throw invalidField('endsAt', 'must be later than startsAt');
  if (latest !== undefined && ends > latest)
    throw invalidField('endsAt', 'must be at most 7 days after the start with until: resolved');
  return { starts_at: starts, ends_at: ends };
}

/** What a read shows may be sent back with it, as long as it is the same. */
const silenceChange = z.strictObject({
  endsAt: time.optional().describe('When it is over from now on.'),
  comment: comment.optional(),
  id: z.string().optional(),
  matchers: askingMatchers.optional(),
  startsAt: time.optional(),
  until: z.literal('resolved').optional(),
});

function assertUnchanged(
  row: SilenceRow,
  { id, matchers, startsAt, until }: z.output<typeof silenceChange>,
): void {
  const differing = [
    ['id', id !== undefined && id !== row.id],
    ['matchers', matchers !== undefined && JSON.stringify(matchers) !== row.matchers],
    ['startsAt', startsAt !== undefined && Date.parse(startsAt) !== row.starts_at],
    ['until', until !== undefined && row.until_resolved !== 1],
  ] as const;
  for (const [name, differs] of differing)
    if (differs) throw invalidField(name, 'cannot be changed; expire this silence and create another');
}

/** Extends or shortens one that is not over, or says better why. Throws `conflict` for one that is. */
export const updateSilence = defineVerb({
  permission: 'update:silences',
  input: z.object({
    id: z.string().max(512),
    body: silenceChange,
  }),
  async run({ context }, { id, body }): Promise<SilenceDetails> {
    const now = context.clock.now();
    const { row } = await detailsOf(context, id);
    assertUnchanged(row, body);
    const until = row.until_resolved === 1 ? 'resolved' : undefined;
    const startsAt = new Date(row.starts_at).toISOString();
    const span = body.endsAt === undefined ? {} : endOf({ startsAt, endsAt: body.endsAt, until }, row, now);
    const change = { ...span, ...(body.comment !== undefined && { comment: body.comment }) };
    if (Object.keys(change).length > 0) await changeSilence(context, id, change, now);
    return detailsOf(context, id);
  },
});

/** The start of one that has begun stays. */
function endOf(
  given: Pick<z.output<typeof newSilence>, 'startsAt' | 'endsAt' | 'until'>,
  row: SilenceRow,
  now: number,
): Pick<SilenceRow, 'ends_at'> {
  const { ends_at } = spanOf(given, Math.min(now, row.starts_at));
  if (ends_at <= now) throw invalidField('endsAt', 'must be later than now; to end it now, delete it');
  return { ends_at };
}

async function changeSilence(
  context: WorkspaceContext,
  id: string,
  change: Partial<Pick<SilenceRow, 'starts_at' | 'ends_at' | 'comment'>>,
  now: number,
): Promise<void> {
  const changed = await context.transaction(tx => tx.updateSilence(id, change, now));
  if (changed === undefined)
    throw new AppError('conflict', `silence '${id}' is over; create another one with its matchers`);
  await context.refreshSilences();
}

/** Ends one now, before its time or before it began; it stays in the list. One that is over stays as it is. */
export const expireSilence = defineVerb({
  permission: 'update:silences',
  input: z.object({ id: z.string().max(512) }),
  async run({ context }, { id }): Promise<SilenceDetails> {
    const now = context.clock.now();
    const { row } = await detailsOf(context, id);
    const change = { starts_at: Math.min(row.starts_at, now), ends_at: now };
    await context.transaction(tx => tx.updateSilence(id, change, now));
    await context.refreshSilences();
    return detailsOf(context, id);
  },
});
