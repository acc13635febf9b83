import * as z from 'zod';
import type { Condition } from '../../conditions/index.ts';
import { getCondition, listConditions } from '../../resources/notifications.ts';
import { item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';

const conditionSchema = z.object({
  id: z.string(),
  name: z.string().describe('For people.'),
  type: z.enum(['metric', 'message', 'search', 'monitor-alerts']),
  category: z.string(),
  description: z.string(),
  schema: z.looseObject({}).describe('JSON Schema of the conf of its notifications.'),
});
const conditionShape: Shape = { name: 'Condition', schema: conditionSchema };

const schemas = new WeakMap<Condition, Record<string, unknown>>();

/** A condition with the JSON Schema of its conf. */
function wireCondition(condition: Condition): z.output<typeof conditionSchema> {
  const { id, name, type, category, description } = condition;
  const schema = schemas.get(condition) ?? { ...z.toJSONSchema(condition.schema, { io: 'input' }) };
  schemas.set(condition, schema);
  return { id, name, type, category, description, schema };
}

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
