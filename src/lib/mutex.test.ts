import { expect, it } from 'vitest';
import { settle } from '../../test/helpers/clock.ts';
import { createMutex } from './mutex.ts';

/** Work that ends when the test lets it. */
function work(name: string, began: string[]) {
  const { promise, resolve, reject } = withResolvers();
  return {
    begin: (): Promise<string> => {
      began.push(name);
      return promise;
    },
    end: () => resolve(name),
    fail: () => reject(new Error(`${name} failed`)),
  };
}

function withResolvers() {
  let resolve: (value: string) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<string>((one, other) => {
    resolve = one;
    reject = other;
  });
  return { promise, resolve, reject };
}

it('runs one piece of work after the other, in the order of asking', async () => {
  const began: string[] = [];
  const [first, second] = [work('first', began), work('second', began)];
  const mutex = createMutex();
  const results = Promise.all([mutex.run(first.begin), mutex.run(second.begin)]);
  await settle();
  expect(began).toEqual(['first']);
  first.end();
  await settle();
  expect(began).toEqual(['first', 'second']);
  second.end();
  expect(await results).toEqual(['first', 'second']);
});

it('rejects for the work that failed only, and goes on', async () => {
  const began: string[] = [];
  const [bad, good] = [work('bad', began), work('good', began)];
  const mutex = createMutex();
  const [failure, result] = [mutex.run(bad.begin), mutex.run(good.begin)];
  bad.fail();
  good.end();
  await expect(failure).rejects.toThrow('bad failed');
  expect(await result).toBe('good');
});

it('rejects when the work throws before it has a promise', async () => {
  const mutex = createMutex();
  const failure = mutex.run(() => {
    throw new Error('at once');
  });
  await expect(failure).rejects.toThrow('at once');
  expect(await mutex.run(async () => 'next')).toBe('next');
});

it('is idle once all work has settled, also by a failure', async () => {
  const began: string[] = [];
  const [first, second] = [work('first', began), work('second', began)];
  const mutex = createMutex();
  let isIdle = false;
  void mutex.run(first.begin);
  const failure = mutex.run(second.begin).catch(() => 'failed');
  const idle = mutex.idle().then(() => {
    isIdle = true;
  });
  first.end();
  await settle();
  expect(isIdle).toBe(false);
  second.fail();
  await idle;
  expect(await failure).toBe('failed');
});

it('is free while nothing runs or waits', async () => {
  const began: string[] = [];
  const [first, second] = [work('first', began), work('second', began)];
  const mutex = createMutex();
  expect(mutex.isFree()).toBe(true);
  void mutex.run(first.begin);
  const last = mutex.run(second.begin).catch(() => {});
  first.end();
  await settle();
  expect(mutex.isFree()).toBe(false);
  second.fail();
  await last;
  await mutex.idle();
  expect(mutex.isFree()).toBe(true);
});
