import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createHeap } from './heap.ts';

it('hands items out in their order, whatever is put in between', () => {
  const turn = fc.oneof(fc.integer(), fc.constant('take' as const));
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 200 }), turns => {
      const heap = createHeap<number>((one, other) => one < other);
      let model: number[] = [];
      for (const one of turns) {
        if (one === 'take') {
          expect(heap.peek()).toBe(model[0]);
          expect(heap.pop()).toBe(model.shift());
        } else {
          heap.push(one);
          model = [...model, one].sort((a, b) => a - b);
        }
        expect(heap.size).toBe(model.length);
      }
      expect(heap.drain().sort((a, b) => a - b)).toEqual(model);
      expect(heap.size).toBe(0);
    }),
  );
});
