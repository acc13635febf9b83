import { expect, it } from 'vitest';
import { recordExamples } from '../../scripts/record-examples.ts';
import { operations } from '../../src/api/v1/index.ts';
import { isMap } from '../../src/config/plain.ts';
import { at, documented, faultsOf } from './document.ts';

const exampleAnswer = (responses: object): unknown =>
  at(responses, '200', 'content', 'application/json').example;

it('documents every operation of the table, each once', () => {
  const ids = documented.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const ending = operations.filter(({ answer }) => answer.kind !== 'stream');
  expect(ids.toSorted()).toEqual(ending.map(({ id }) => id).toSorted());
});

it('answers each example as the document says, when it is asked today', async () => {
  const recorded = await recordExamples();
  for (const { id, responses } of documented)
    expect([id, recorded.get(id)?.answer]).toEqual([id, exampleAnswer(responses)]);
});

it.each(documented.map(operation => [operation.id, operation] as const))(
  'answers %s in its schema',
  (_, operation) => {
    const answer = exampleAnswer(operation.responses);
    expect(isMap(answer)).toBe(true);
    expect(faultsOf(operation, 200, answer)).toEqual([]);
  },
);
