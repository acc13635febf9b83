import { createServer } from 'node:http';
import { Pool } from 'undici';

/** The least that can be done: takes a list, keeps it in memory, and forwards each of it. Arguments: the receiver's URL. */
const CONNECTIONS = 16;
const receiver = new URL(process.argv[2] ?? '');
const pool = new Pool(receiver.origin, { connections: CONNECTIONS, pipelining: 1 });

async function forward(event: unknown): Promise<void> {
  const answer = await pool.request({
    path: receiver.pathname,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(event),
  });
  await answer.body.dump();
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const events: readonly unknown[] = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    response.writeHead(200).end();
    for (const event of events) void forward(event);
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null)
    process.stdout.write(`ready on http://127.0.0.1:${address.port}\n`);
});
