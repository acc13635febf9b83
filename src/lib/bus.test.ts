import { describe, expect, it } from 'vitest';
import { createBus } from './bus.ts';

function listening() {
  const failures: unknown[] = [];
  const bus = createBus<number>(error => failures.push(error));
  const heard: number[] = [];
  const hear = (message: number): void => void heard.push(message);
  return { bus, failures, heard, hear };
}

describe('the bus', () => {
  it('hands each message to every listener, in order', () => {
    const { bus, heard, hear } = listening();
    bus.publish(1);
    bus.subscribe(hear);
    bus.subscribe(hear);
    bus.publish(2);
    bus.publish(3);
    expect(heard).toEqual([2, 2, 3, 3]);
  });

  it('hands on nothing once a subscription is ended, which leaves others of the same listener', () => {
    const { bus, heard, hear } = listening();
    const end = bus.subscribe(hear);
    bus.subscribe(hear);
    end();
    end();
    bus.publish(1);
    expect(heard).toEqual([1]);
  });

  it('goes on to the others when a listener throws, and reports what it threw', () => {
    const { bus, failures, heard, hear } = listening();
    const failure = new Error('no');
    bus.subscribe(() => {
      throw failure;
    });
    bus.subscribe(hear);
    bus.publish(1);
    expect(heard).toEqual([1]);
    expect(failures).toEqual([failure]);
  });

  it('lets a listener end itself or add another while a message goes round', () => {
    const { bus, heard, hear } = listening();
    const end = bus.subscribe(() => {
      end();
      bus.subscribe(hear);
    });
    bus.publish(1);
    expect(heard).toEqual([]);
    bus.publish(2);
    expect(heard).toEqual([2]);
  });
});
