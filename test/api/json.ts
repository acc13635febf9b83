import type { ApiServer } from './api-server.ts';
import { JSON_BODY } from './api-server.ts';

export interface JsonAnswer {
  readonly status: number;
  readonly etag: string | undefined;
  /** As it came, to look for what must not be in it. */
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the tests ask.
  readonly body: any;
}

/** A caller of `/api/v1` that speaks JSON. */
export const jsonCaller =
  (server: ApiServer) =>
  async (
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<JsonAnswer> => {
    const answer = await server.call(method, `/api/v1${path}`, {
      headers: [['authorization', server.token], JSON_BODY, ...Object.entries(headers)],
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const { etag } = answer.headers;
    return {
      status: answer.status,
      etag: typeof etag === 'string' ? etag : undefined,
      text: answer.text,
      body: JSON.parse(answer.text),
    };
  };
