import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Writable } from 'node:stream';
import { AppError } from '../lib/errors.ts';

/** Larger than any secret may be; reading on would only fill memory. */
const MOST_BYTES = 128 * 1024;

/** Asks for one line without showing what is typed. Undefined when the person gives up (Ctrl-C, Ctrl-D). */
export function promptSecret(
  question: string,
  terminal: { readonly input: Readable; readonly output: Writable },
): Promise<string | undefined> {
  const { input, output } = terminal;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal: true, historySize: 0 });
  output.write(question);
  const answer = new Promise<string | undefined>(resolve => {
    lines.once('line', resolve);
    lines.once('close', () => resolve(undefined));
  });
  return answer.finally(() => {
    lines.close();
    output.write('\n');
  });
}

/** Reads all of a stream as UTF-8; one line break at the end, as `echo` makes it, does not count. */
export async function readSecret(input: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MOST_BYTES)
      throw new AppError('invalid-request', 'what came on standard input is too long to be a secret');
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    return text.replace(/\r?\n$/, '');
  } catch (cause) {
    throw new AppError('invalid-request', 'what came on standard input is not UTF-8 text', { cause });
  }
}
