import { HeadgateConnectionError } from './errors.ts';

/** A line longer than any hint is no hint. */
const MOST_LENGTH = 64 * 1024;

/** Reads server-sent events (HTML Living Standard, 9.2.6): each as its data's object, with its name as `event`. */
export async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  let name = 'message';
  let data: string[] = [];
  for await (const line of linesOf(body)) {
    if (line.startsWith('event:')) name = line.slice(6).trim();
    else if (line.startsWith('data:')) data.push(line.slice(5).trim());
    else if (line === '') {
      if (data.length > 0) yield { event: name, ...objectIn(data.join('\n')) };
      name = 'message';
      data = [];
    }
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? '';
      if (rest.length > MOST_LENGTH) throw new HeadgateConnectionError('a line of the stream is too long');
      yield* lines;
    }
  } finally {
    // Whoever leaves the loop is done with the connection.
    await reader.cancel().catch(() => {});
  }
}

function objectIn(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    throw new HeadgateConnectionError(`the stream holds no JSON: ${text.slice(0, 200)}`);
  }
}
