import { getIncident } from '../../resources/incidents/get.ts';
import { listIncidents } from '../../resources/incidents/list.ts';
import { item, list } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { incidentShape, wireIncident } from '../wire/incident.ts';

export const incidentRoutes: readonly Route[] = [
  route({
    id: 'incidents.list',
    isLive: false,
    method: 'GET',
    path: '/incidents',
    summary: 'List incidents, newest first',
    verb: listIncidents,
    answer: list(incidentShape, wireIncident),
    example: { query: { state: 'open' } },
  }),
  route({
    id: 'incidents.get',
    isLive: false,
    method: 'GET',
    path: '/incidents/:id',
    summary: 'Get an incident',
    verb: getIncident,
    answer: item(incidentShape, wireIncident),
    example: { params: { id: '{incident}' } },
  }),
];
