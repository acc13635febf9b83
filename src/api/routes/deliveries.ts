import { getDelivery } from '../../resources/deliveries/get.ts';
import { listDeliveries } from '../../resources/deliveries/list.ts';
import { replayDeliveries } from '../../resources/deliveries/replay.ts';
import { retryDelivery } from '../../resources/deliveries/retry.ts';
import { item, list } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import {
  deliveryDetailShape,
  deliveryShape,
  replayRequestShape,
  replayShape,
  wireDelivery,
  wireDeliveryDetail,
  wireReplay,
} from '../wire/delivery.ts';

export const deliveryRoutes: readonly Route[] = [
  route({
    id: 'deliveries.list',
    isLive: false,
    method: 'GET',
    path: '/deliveries',
    summary: 'List deliveries, newest first',
    verb: listDeliveries,
    answer: list(deliveryShape, wireDelivery),
    example: { query: { target: 'log', limit: '1' } },
  }),
  route({
    id: 'deliveries.get',
    isLive: false,
    method: 'GET',
    path: '/deliveries/:id',
    summary: 'Get a delivery with its attempts and its event',
    verb: getDelivery,
    answer: item(deliveryDetailShape, wireDeliveryDetail),
    example: { params: { id: '{delivery}' } },
  }),
  route({
    id: 'deliveries.retry',
    method: 'POST',
    path: '/deliveries/:id/retry',
    summary: 'Try a delivery at once, also one that was given up',
    description:
      'Its schedule begins anew. The end of the incident, if it was skipped because the alarm had not arrived, follows.',
    verb: retryDelivery,
    answer: item(deliveryShape, wireDelivery),
    errors: ['conflict'],
    example: { params: { id: '{waiting}' } },
  }),
  route({
    id: 'deliveries.replay',
    method: 'POST',
    path: '/deliveries/replay',
    summary: 'Put what was given up in a range of time back into the queue',
    verb: replayDeliveries,
    takes: { shape: replayRequestShape },
    answer: item(replayShape, wireReplay),
    example: { body: { since: '2026-01-01T00:00:00Z', target: 'log' } },
  }),
];
