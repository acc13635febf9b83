import { getDelivery } from '../../resources/deliveries/get.ts';
import { listDeliveries } from '../../resources/deliveries/list.ts';
import { getIncident } from '../../resources/incidents/get.ts';
import { listIncidents } from '../../resources/incidents/list.ts';
import { envelope, single } from '../envelope.ts';
import { get, type Route } from '../route.ts';
import { wireDelivery, wireDeliveryDetail } from '../wire/delivery.ts';
import { wireIncident } from '../wire/incident.ts';

export const incidentRoutes: readonly Route[] = [
  get('/incidents', 'List incidents, newest first', listIncidents, page => envelope(page, wireIncident)),
  get('/incidents/:id', 'Get an incident', getIncident, row => single(wireIncident(row))),
  get('/deliveries', 'List deliveries, newest first', listDeliveries, page => envelope(page, wireDelivery)),
  get('/deliveries/:id', 'Get a delivery with its attempts', getDelivery, detail =>
    single(wireDeliveryDetail(detail)),
  ),
];
