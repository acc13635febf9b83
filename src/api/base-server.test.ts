import { connect, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { countingIds } from '../../test/helpers/counting-ids.ts';
import { refuseUnreadable } from './base-server.ts';

/** What a connection hears on which a request was given up for the reason. */
async function heard(code: string): Promise<string> {
  const server = createServer((socket: Socket) =>
    refuseUnreadable(Object.assign(new Error('given up'), { code }), socket, countingIds()),
  );
  const { port } = await new Promise<{ port: number }>(resolve =>
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve({ port: typeof address === 'object' && address !== null ? address.port : 0 });
    }),
  );
  onTestFinished(() => void server.close());
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

it.each([
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
  ['HPE_HEADER_OVERFLOW', 431],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 413],
  ['HPE_INVALID_METHOD', 400],
])(
  'who sends too slowly, too much or no HTTP hears so, and the connection ends: %s',
  async (code, status) => {
    const answer = await heard(code);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*\\r\\nconnection: close\\r\\n`));
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ code: 'invalid-request' });
  },
);

it('who speaks TLS where there is none hears nothing', async () => {
  expect(await heard('ERR_SSL_HTTP_REQUEST')).toBe('');
});
