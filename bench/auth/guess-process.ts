import { Pool } from 'undici';

/** Tries wrong passwords of one user, from as many addresses as there are guesses at once. Arguments: the server's address, how many, how many at once. */
const [, , origin = '', count = '0', atOnce = '1'] = process.argv;
const pool = new Pool(origin, { connections: Number(atOnce), pipelining: 1 });
const answers: Record<string, number> = {};
let left = Number(count);

async function guessFrom(address: string): Promise<void> {
  while (left-- > 0) {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/api/v1/auth/login',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
      body: JSON.stringify({ username: 'ann', password: `a wrong password ${left}` }),
    });
    await body.dump();
    answers[statusCode] = (answers[statusCode] ?? 0) + 1;
  }
}

const begun = performance.now();
await Promise.all(Array.from({ length: Number(atOnce) }, (_, index) => guessFrom(`10.0.0.${index}`)));
process.stdout.write(JSON.stringify({ answers, ms: performance.now() - begun }));
await pool.destroy();
