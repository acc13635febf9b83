import { percentile, printGoal, printTable } from '../delivery/table.ts';
import { type Measured, PASSWORD, startMeasured } from './server.ts';

const USERS = 60;

interface Ended {
  /** From the change being sent to the first 401 being there, in ms. */
  readonly fromSent: number;
  /** From the change being answered to the last 200 being there of a call sent after that; 0 when there was none. */
  readonly afterAnswered: number;
}

/** How long the token of a user goes on to work who is disabled, while it is used without a pause. */
export async function measureDisable(): Promise<void> {
  const server = await startMeasured('1000/second');
  const ended: Ended[] = [];
  try {
    for (let user = 0; user < USERS; user++) ended.push(await disableOne(server, `user-${user}`));
  } finally {
    await server.end();
  }
  const column = (values: readonly number[]): string[] =>
    [0.5, 0.99].map(share => percentile(values, share).toFixed(1));
  const sent = ended.map(({ fromSent }) => fromSent);
  printTable(['ms', 'p50', 'p99'], [['change sent → first 401', ...column(sent)]]);
  printGoal('most of them, ms', Math.max(...sent), '<=', 50);
  const late = ended.filter(({ afterAnswered }) => afterAnswered > 0).length;
  console.log(
    `  calls let through that began after the answer: ${late}, goal 0  ${late === 0 ? 'reached' : 'missed'}`,
  );
}

async function disableOne(server: Measured, username: string): Promise<Ended> {
  const id = await server.addUser(username, { roles: ['reader'] });
  const { token } = JSON.parse((await server.logIn(username, PASSWORD)).text);
  const call = () =>
    server.ask({ method: 'GET', path: '/api/v1/auth/me', headers: { authorization: String(token) } });
  if ((await call()).status !== 200) throw new Error('the token was meant to work');

  let answeredAt = Number.POSITIVE_INFINITY;
  const sentAt = performance.now();
  const change = server
    .ask({ method: 'PATCH', path: `/api/v1/system/users/${id}`, body: { disabled: true } })
    .then(({ status }) => {
      if (status !== 200) throw new Error(`the change was answered ${status}`);
      answeredAt = performance.now();
    });
  let afterAnswered = 0;
  for (;;) {
    const begunAt = performance.now();
    const { status } = await call();
    if (status === 401) break;
    if (begunAt > answeredAt) afterAnswered = performance.now() - answeredAt;
  }
  const fromSent = performance.now() - sentAt;
  await change;
  return { fromSent, afterAnswered };
}
