/** The one writer, handed to one piece of work after the other, in the order of asking. */
export interface Turns {
  take<Result>(work: () => Promise<Result>): Promise<Result>;
}

export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return {
    take(work) {
      const turn = last.then(work);
      last = turn.catch(() => {});
      return turn;
    },
  };
}
