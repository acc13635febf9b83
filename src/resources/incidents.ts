import * as z from 'zod';
import { notFound } from '../lib/errors.ts';
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
    return toListPage(query, await context.stores.incidents.list(filter, pageRequest(query)), row => row);
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
  async run({ context }, { id }) {
    const incident = await context.stores.incidents.get(id);
    if (incident === undefined) throw notFound('incident', id);
    return incident;
  },
});
