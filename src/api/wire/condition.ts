import * as z from 'zod';
import type { Condition } from '../../conditions/condition.ts';

const schemas = new WeakMap<Condition, object>();

/** A condition with the JSON Schema of its conf. */
export function wireCondition(condition: Condition): object {
  const { id, name, category, description } = condition;
  const schema = schemas.get(condition) ?? z.toJSONSchema(condition.schema, { io: 'input' });
  schemas.set(condition, schema);
  return { id, name, type: 'metric', category, description, schema };
}
