import * as z from 'zod';
import type { Condition } from '../../conditions/index.ts';
import type { Shape } from '../shape.ts';

const shown = z.object({
  id: z.string(),
  name: z.string().describe('For people.'),
  type: z.enum(['metric', 'message', 'search', 'monitor-alerts']),
  category: z.string(),
  description: z.string(),
  schema: z.looseObject({}).describe('JSON Schema of the conf of its notifications.'),
});
export const conditionShape: Shape = { name: 'Condition', schema: shown };

const schemas = new WeakMap<Condition, Record<string, unknown>>();

/** A condition with the JSON Schema of its conf. */
export function wireCondition(condition: Condition): z.output<typeof shown> {
  const { id, name, type, category, description } = condition;
  const schema = schemas.get(condition) ?? { ...z.toJSONSchema(condition.schema, { io: 'input' }) };
  schemas.set(condition, schema);
  return { id, name, type, category, description, schema };
}
