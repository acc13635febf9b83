import { type ApiServer, JSON_BODY } from '../api/api-server.ts';
import { type JsonAnswer, jsonCaller } from '../api/json.ts';

/** Good enough for anybody. */
export const GOOD_PASSWORD = 'violet-giraffes-mend-9-clocks';

/** What a login answers, whatever that is. */
export async function loginAt(server: ApiServer, username: string, password: string): Promise<JsonAnswer> {
  const body = JSON.stringify({ username, password });
  const answer = await server.call('POST', '/api/v1/auth/login', { headers: [JSON_BODY], body });
  return { status: answer.status, etag: undefined, text: answer.text, body: JSON.parse(answer.text) };
}

/** A caller of `/api/v1` with another token. */
export const callerWith = (server: ApiServer, token: string) => jsonCaller({ ...server, token });

/** Adds a user who need not change the password, and answers a caller that is logged in as that user. */
export async function addedUser(server: ApiServer, username: string, facts: object = {}) {
  const made = await jsonCaller(server)('POST', '/system/users', {
    username,
    password: GOOD_PASSWORD,
    forcePasswordChange: false,
    ...facts,
  });
  if (made.status !== 200) throw new Error(`user ${username} was not added: ${made.text}`);
  const { token } = (await loginAt(server, username, GOOD_PASSWORD)).body;
  return { id: String(made.body.items[0].id), token: String(token), call: callerWith(server, token) };
}
