import type { PlainMap } from '../../config/plain.ts';
import type { AnswerKind } from '../shape.ts';

const count = { type: 'integer', minimum: 0 };

const envelope = (items: PlainMap, more: PlainMap = {}): PlainMap => ({
  type: 'object',
  properties: { items: { type: 'array', ...items }, count, ...more },
  required: ['items', 'count'],
});

/** The schema of an answer by that of its one object. */
export const ENVELOPES: Readonly<Record<AnswerKind, (one: PlainMap) => PlainMap>> = {
  list: one => envelope({ items: one }, { offset: count, limit: count, totalCount: count }),
  item: one => envelope({ items: one, minItems: 1, maxItems: 1 }),
  optional: one => envelope({ items: one, maxItems: 1 }),
  object: one => one,
  stream: one => one,
};
