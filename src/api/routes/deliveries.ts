import { getDelivery } from '../../resources/deliveries/get.ts';
import { listDeliveries } from '../../resources/deliveries/list.ts';
import { item, list } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { deliveryDetailShape, deliveryShape, wireDelivery, wireDeliveryDetail } from '../wire/delivery.ts';

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
];
