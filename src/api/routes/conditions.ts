import { getCondition } from '../../resources/conditions/get.ts';
import { listConditions } from '../../resources/conditions/list.ts';
import { item, list } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { conditionShape, wireCondition } from '../wire/condition.ts';

export const conditionRoutes: readonly Route[] = [
  route({
    id: 'conditions.list',
    method: 'GET',
    path: '/conditions',
    summary: 'List what notifications can wait for',
    grouped: true,
    verb: listConditions,
    answer: list(conditionShape, wireCondition),
    example: { query: { limit: '1' } },
  }),
  route({
    id: 'conditions.get',
    method: 'GET',
    path: '/conditions/:id',
    summary: 'Get a condition with the schema of its conf',
    grouped: true,
    verb: getCondition,
    answer: item(conditionShape, wireCondition),
    example: { params: { id: 'no-data' } },
  }),
];
