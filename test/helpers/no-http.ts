import type { Dial } from '../../src/lib/dial.ts';
import type { HttpClient } from '../../src/lib/http/client.ts';

/** For parts that must get along without the network. */
export const noHttp: HttpClient = {
  request: ({ url }) => Promise.reject(new Error(`nobody was to ask ${url}`)),
  close: async () => {},
};

export const noDial: Dial = ({ host }) => Promise.reject(new Error(`nobody was to connect to ${host}`));
