/** Longest line that is read: the largest row, with its files in it, is far below. */
const MOST_LINE_BYTES = 256 * 2 ** 20;
const LINE_BREAK = 10;

/** Splits bytes into lines, each with its line break; throws a `RangeError` for one without end. */
export async function* linesIn(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let started: Buffer[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_BREAK); end >= 0; end = chunk.indexOf(LINE_BREAK, from)) {
      const rest = chunk.subarray(from, end + 1);
      yield started.length === 0 ? rest : Buffer.concat([...started, rest]);
      started = [];
      length = 0;
      from = end + 1;
    }
    if (from === chunk.length) continue;
    started.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > MOST_LINE_BYTES) throw new RangeError(`a line is over ${MOST_LINE_BYTES} bytes`);
  }
  if (started.length > 0) yield Buffer.concat(started);
}
