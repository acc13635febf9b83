import { Pool } from 'undici';
import { addresses } from './addresses.ts';

/** Tries wrong passwords of one user, each from another address. Arguments: the server's address, how many, how many at once. */
const [, , origin = '', count = '0', atOnce = '1'] = process.argv;
const pool = new Pool(origin, { connections: Number(atOnce), pipelining: 1 });
const answers: Record<string, number> = {};
const nextAddress = addresses();
let left = Number(count);

async function guess(): Promise<void> {
  while (left-- > 0) {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/api/v1/auth/login',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': nextAddress() },
      body: JSON.stringify({ username: 'ann', password: `a wrong password ${left}` }),
    });
    await body.dump();
    answers[statusCode] = (answers[statusCode] ?? 0) + 1;
  }
}

const begun = performance.now();
await Promise.all(Array.from({ length: Number(atOnce) }, guess));
process.stdout.write(JSON.stringify({ answers, ms: performance.now() - begun }));
await pool.destroy();
