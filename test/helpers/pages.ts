import { readFileSync } from 'node:fs';
import type { HttpAnswer, HttpClient, HttpRequest } from '../../src/lib/http/client.ts';
import { HttpFailure } from '../../src/lib/http/failure.ts';

/** A recorded payload of a real engine. */
export const sample = (name: string): string =>
  readFileSync(new URL(`../samples/${name}`, import.meta.url), 'utf8');

/** The same as bytes. */
export const sampleBytes = (name: string): Buffer =>
  readFileSync(new URL(`../samples/${name}`, import.meta.url));

export type Served = string | Partial<HttpAnswer> | HttpFailure | Promise<HttpAnswer>;

/** An HTTP client that answers each url with what was put there last. */
export interface Pages extends HttpClient {
  serve(url: string, answer: Served): void;
  readonly requests: readonly HttpRequest[];
}

export function testPages(): Pages {
  const served = new Map<string, Served>();
  const requests: HttpRequest[] = [];
  return {
    requests,
    serve: (url, answer) => served.set(url, answer),
    close: async () => {},
    async request(request) {
      requests.push(request);
      const answer = served.get(request.url) ?? { status: 404 };
      if (answer instanceof HttpFailure) throw answer;
      if (answer instanceof Promise) return answer;
      const parts = typeof answer === 'string' ? { body: Buffer.from(answer) } : answer;
      const whole = { status: 200, headers: {}, body: Buffer.alloc(0), truncated: false, ...parts };
      const over = whole.body.length > request.maxAnswerBytes;
      return {
        ...whole,
        body: whole.body.subarray(0, request.maxAnswerBytes),
        truncated: over || whole.truncated,
      };
    },
  };
}
