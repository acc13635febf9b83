import type { HttpClient } from '../../src/lib/http.ts';

/** For parts that must get along without the network. */
export const noHttp: HttpClient = {
  request: ({ url }) => Promise.reject(new Error(`nobody was to ask ${url}`)),
  close: async () => {},
};
