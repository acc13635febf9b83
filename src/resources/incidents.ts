import * as z from 'zod';
import { AppError, notFound } from '../lib/errors.ts';
import type { AcknowledgementRow } from '../storage/stores/acknowledgements.ts';
import type { WorkspaceContext } from './context.ts';
import { type DescribedIncident, describeIncidents } from './notified.ts';
import { pageQuery, pageRequest, toListPage } from './paging.ts';
import { defineVerb } from './verb.ts';

const input = z.object({
  ...pageQuery,
  state: z.enum(['open', 'closed']).optional(),
  notification: z.string().max(512).optional(),
});

export const listIncidents = defineVerb({
  permission: 'read:incidents',
  input,
  async run({ context }, query) {
    const { state, notification } = query;
    const filter = { ...(state && { state }), ...(notification && { notification }) };
    const page = await context.stores.incidents.list(filter, pageRequest(query));
    const described = await describeIncidents(context, page.rows);
    return toListPage(query, { rows: described, total: page.total }, one => one);
  },
});

/** The history of an incident: what was notified, and what changed while nobody was. */
export const listIncidentEvents = defineVerb({
  permission: 'read:incidents',
  input: z.object({ ...pageQuery, id: z.string().max(512) }),
  async run({ context }, query) {
    const { incidents, events } = context.stores;
    if ((await incidents.get(query.id)) === undefined) throw notFound('incident', query.id);
    return toListPage(query, await events.ofIncident(query.id, pageRequest(query)), row => row);
  },
});

export const getIncident = defineVerb({
  permission: 'read:incidents',
  input: z.object({ id: z.string().max(512) }),
  run: ({ context }, { id }) => described(context, id),
});

const id = z.string().max(512);
const body = z
  .strictObject({
    note: z.string().max(1024).default('').describe('What is being done about it.'),
  })
  .optional();

/**
 * Somebody looks after an open incident: nobody is reminded of it any more, and it goes to no further targets. Once more,
 * it takes over the caller and the note. Throws `conflict` for one that is closed.
 */
export const acknowledgeIncident = defineVerb({
  permission: 'update:incidents',
  input: z.object({ id, body }),
  async run({ actor, context }, { id: incident, body: given }) {
    const made = { acknowledged: 1, changed_by: actor.name, note: given?.note ?? '' };
    const isOpen = await put(context, incident, made);
    const after = await described(context, incident);
    if (isOpen) return after;
    throw new AppError('conflict', `incident '${incident}' is closed; nobody is reminded of it any more`);
  },
});

/** Takes an acknowledgement back; an incident without one, and one that is closed, stay as they are. */
export const unacknowledgeIncident = defineVerb({
  permission: 'update:incidents',
  input: z.object({ id }),
  async run({ actor, context }, { id: incident }) {
    const present = await described(context, incident);
    if (present.acknowledgement === undefined) return present;
    await put(context, incident, { acknowledged: 0, changed_by: actor.name, note: '' });
    return described(context, incident);
  },
});

/** False where the incident is not open: then nothing is written. */
async function put(
  context: WorkspaceContext,
  incident: string,
  made: Pick<AcknowledgementRow, 'acknowledged' | 'changed_by' | 'note'>,
): Promise<boolean> {
  const row = { incident, changed_at: context.clock.now(), ...made };
  const isOpen = await context.transaction(tx => tx.putAcknowledgement(row));
  if (isOpen) await context.refreshAcknowledgement(incident);
  return isOpen;
}

async function described(context: WorkspaceContext, incident: string): Promise<DescribedIncident> {
  const row = await context.stores.incidents.get(incident);
  const [found] = row === undefined ? [] : await describeIncidents(context, [row]);
  if (found === undefined) throw notFound('incident', incident);
  return found;
}
