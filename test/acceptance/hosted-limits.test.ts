import { type IncomingMessage, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { type Quotas, quotasSchema } from '../../src/config/quotas.ts';
import { ask, type HostedCall, METRICS_TOKEN, twoOrganizations } from '../helpers/hosted.ts';
import { until } from '../helpers/until.ts';
import { sink, webhook } from './harness.ts';
import { alarm, keys, monitors, POSTING } from './posting.ts';

type Installed = Awaited<ReturnType<typeof twoOrganizations>>;
type Answer = Awaited<ReturnType<typeof ask>>;

const workspaceOf =
  ({ api, tokenOf }: Installed, org: string) =>
  (path: string, call: HostedCall = {}) =>
    api(`main-${org}`, path, { token: tokenOf(org), ...call });

type Workspace = ReturnType<typeof workspaceOf>;

const push = ({ port }: Installed, org: string, path: string, body: unknown, headers = {}) =>
  ask(`http://127.0.0.1:${port}/ingest/${path}`, {
    host: `main-${org}.localhost:${port}`,
    method: 'POST',
    token: POSTING.token,
    body,
    headers,
  });

const samples = (...ids: string[]) => ({
  samples: ids.map(id => ({ kind: 'input', id, metric: 'in_events', value: 1 })),
});

const settings = (workspace: Workspace, body: object) =>
  workspace('/system/settings/conf', { method: 'PATCH', body });

const makeTarget = (workspace: Workspace, body: object) =>
  workspace('/notification-targets', { method: 'POST', body });

/** Reads until the connection is open; it ends with the test. */
function openStream({ port, tokenOf }: Installed, org: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const call = request(`http://127.0.0.1:${port}/api/v1/stream`, {
      headers: { host: `main-${org}.localhost:${port}`, authorization: `Bearer ${tokenOf(org)}` },
    });
    call.on('response', resolve).on('error', reject).end();
    onTestFinished(() => void call.destroy());
  });
}

/** Asks again and again until it is refused, at most so often. */
async function untilRefused(most: number, call: () => Promise<Answer>): Promise<Answer> {
  for (let asked = 0; asked < most; asked++) {
    const answer = await call();
    if (answer.status >= 400) return answer;
  }
  throw new Error(`${most} calls were answered`);
}

/** A few calls reach a quota of `most`; the scenario answers what is refused then. */
interface Scenario {
  readonly most: number;
  readonly status: 400 | 429;
  readonly reach: (installed: Installed, org: string, workspace: Workspace) => Promise<Answer>;
}

/** Quotas that refuse; those that make something wait, or take a part, are tested by themselves. */
const REFUSING: Readonly<
  Record<
    Exclude<keyof Quotas, 'components' | 'series' | 'deliveriesPerMinute' | 'evaluationMsPerSecond'>,
    Scenario
  >
> = {
  pipelines: {
    most: 1,
    status: 400,
    reach: (_, __, workspace) =>
      settings(workspace, { pipelines: [POSTING, { ...POSTING, id: 'more', token: 'another-token' }] }),
  },
  targets: {
    most: 1,
    status: 400,
    reach: (_, __, workspace) => {
      let made = 0;
      return untilRefused(3, () => makeTarget(workspace, { id: `t${made++}`, type: 'bulletin_message' }));
    },
  },
  notifications: {
    most: 1,
    status: 400,
    reach: (_, __, workspace) => {
      let made = 0;
      return untilRefused(3, () =>
        workspace('/notifications', { method: 'POST', body: { ...monitors('t0'), id: `n${made++}` } }),
      );
    },
  },
  inhibitions: {
    most: 1,
    status: 400,
    reach: (_, __, workspace) => {
      let made = 0;
      const side = [{ name: 'severity', value: 'fatal' }];
      return untilRefused(3, () =>
        workspace('/inhibitions', { method: 'POST', body: { id: `i${made++}`, when: side, hold: side } }),
      );
    },
  },
  logFolders: {
    most: 1,
    status: 400,
    reach: (_, __, workspace) => {
      let made = 0;
      return untilRefused(3, () =>
        makeTarget(workspace, { id: `t${made++}`, type: 'notifications_log', logsDir: `d${made}` }),
      );
    },
  },
  configurationCharacters: {
    most: 500,
    status: 400,
    reach: (_, __, workspace) =>
      makeTarget(workspace, { id: 't', type: 'bulletin_message', description: 'x'.repeat(600) }),
  },
  streams: {
    most: 1,
    status: 429,
    reach: async (installed, org, workspace) => {
      await openStream(installed, org);
      return workspace('/stream');
    },
  },
  requestsPerSecond: {
    most: 5,
    status: 429,
    reach: (_, __, workspace) => untilRefused(1000, () => workspace('/notifications')),
  },
  changesPerMinute: {
    most: 20,
    status: 429,
    reach: (_, __, workspace) =>
      untilRefused(50, () => workspace('/system/config/check', { method: 'POST', body: { files: {} } })),
  },
  pushesPerSecond: {
    most: 5,
    status: 429,
    reach: (installed, org) => untilRefused(20, () => push(installed, org, 'events', keys(5).map(alarm))),
  },
  pushedBytesPerSecond: {
    most: 1000,
    status: 429,
    reach: (installed, org) =>
      untilRefused(20, () =>
        push(installed, org, 'samples', samples(...Array.from({ length: 200 }, (_, at) => `input-${at}`))),
      ),
  },
};

const OWN_TESTS = ['components', 'series', 'deliveriesPerMinute', 'evaluationMsPerSecond'];

it('every quota has a test of what happens to whoever is over it', () => {
  expect([...Object.keys(REFUSING), ...OWN_TESTS].sort()).toEqual(Object.keys(quotasSchema.shape).sort());
});

/** What may be reached one after the other in one installation: what changes the most comes last. */
const TOGETHER: readonly (readonly (keyof typeof REFUSING)[])[] = [
  ['pipelines', 'targets', 'notifications', 'inhibitions', 'streams', 'pushesPerSecond', 'changesPerMinute'],
  ['configurationCharacters', 'logFolders', 'pushedBytesPerSecond', 'requestsPerSecond'],
];

it.each(TOGETHER)(
  'what is over the quotas %s, %s, %s, %s … is refused, naming it, and no other workspace is',
  async (...names) => {
    const installed = await twoOrganizations(
      Object.fromEntries(names.map(name => [name, REFUSING[name].most])),
    );
    const [acme, corp] = [workspaceOf(installed, 'acme'), workspaceOf(installed, 'corp')];
    for (const workspace of [acme, corp])
      expect((await settings(workspace, { pipelines: [POSTING] })).status).toBe(200);
    for (const name of names) {
      const { reach, status } = REFUSING[name];
      const refused = await reach(installed, 'acme', acme);
      expect([name, refused.status]).toEqual([name, status]);
      expect(refused.body).toMatchObject({
        code: status === 429 ? 'rate-limited' : 'invalid-request',
        message: expect.stringContaining(`hosted.quotas.${name}`),
      });
      if (status === 429) expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
    const { body: page } = await ask(`${installed.served.url}/metrics`, { token: METRICS_TOKEN });
    for (const name of names.filter(one => REFUSING[one].status === 429))
      expect(page).toContain(
        `headgate_quota_refused_total{quota="${name}",workspace="main",organization="acme"}`,
      );
    expect((await corp('/notifications')).status).toBe(200);
    expect((await push(installed, 'corp', 'samples', samples('a'))).status).toBe(200);
    expect((await makeTarget(corp, { id: 'bell', type: 'bulletin_message' })).status).toBe(200);
  },
);

it('every quota that refuses is reached', () => {
  expect(TOGETHER.flat().sort()).toEqual(Object.keys(REFUSING).sort());
});

it('takes no more series than a workspace may have, and counts what is pushed as it is unpacked', async () => {
  const installed = await twoOrganizations({ series: 2, pushedBytesPerSecond: 1000 });
  const acme = workspaceOf(installed, 'acme');
  await settings(acme, { pipelines: [POSTING] });
  expect(await push(installed, 'acme', 'samples', samples('a', 'b', 'c'))).toMatchObject({
    status: 200,
    body: { accepted: 2 },
  });
  const [engine] = (await acme('/system/engines')).body.items;
  expect(engine.error).toContain('hosted.quotas.series');
  const packed = gzipSync(`{"resourceMetrics":[]}${' '.repeat(100_000)}`);
  const sendPacked = () => push(installed, 'acme', 'otlp/v1/metrics', packed, { 'content-encoding': 'gzip' });
  expect((await sendPacked()).status).toBe(200);
  expect((await sendPacked()).status).toBe(429);
});

it('evaluates what is over the quota later, names the notification that takes most, and alerts all the same', async () => {
  const installed = await twoOrganizations({ evaluationMsPerSecond: 2 });
  const [ours, theirs] = [await sink(), await sink()];
  const [acme, corp] = [workspaceOf(installed, 'acme'), workspaceOf(installed, 'corp')];
  const heavy = `"ab".repeat(8000).split("a").join("c").replaceAll("b", "d").length + in_events < 0`;
  for (const [workspace, receiver] of [
    [acme, ours],
    [corp, theirs],
  ] as const) {
    await settings(workspace, { pipelines: [POSTING] });
    await makeTarget(workspace, { ...webhook('hook', receiver), maxPayloadEvents: 1 });
    await workspace('/notifications', { method: 'POST', body: monitors('hook') });
  }
  for (let number = 0; number < 10; number++)
    expect(
      await acme('/notifications', {
        method: 'POST',
        body: {
          id: `heavy${number}`,
          condition: 'expression',
          targets: ['hook'],
          conf: { name: '*', expression: heavy, timeWindow: '5s' },
        },
      }),
    ).toMatchObject({ status: 200 });
  await push(installed, 'acme', 'samples', samples(...Array.from({ length: 50 }, (_, at) => `i${at}`)));
  const metric = async (name: string): Promise<string[]> => {
    const { body } = await ask(`${installed.served.url}/metrics`, { token: METRICS_TOKEN });
    return String(body)
      .split('\n')
      .filter(line => line.startsWith(`${name}{`));
  };
  await until(async () =>
    (await metric('headgate_evaluations_carried_over_total')).some(line => /"acme"} [1-9]/.test(line)),
  );
  expect(await metric('headgate_evaluations_carried_over_total')).not.toContainEqual(
    expect.stringMatching(/"corp"} [1-9]/),
  );
  const logged = () => installed.served.records().find(({ msg }) => String(msg).includes('evaluated late'));
  await until(() => logged() !== undefined, 'the log of a late evaluation');
  expect(logged()).toMatchObject({ workspace: 'main-acme', notification: expect.any(String) });
  interface Listed {
    readonly id: string;
    readonly headgate?: { readonly evaluation?: { readonly isHeaviest: boolean; readonly lateMs?: number } };
  }
  const evaluations = async (workspace: Workspace): Promise<readonly Listed[]> =>
    (await workspace('/notifications')).body.items;
  // The workspace itself sees it too, and of no other.
  await until(async () => {
    const listed = await evaluations(acme);
    const heaviest = listed.filter(({ headgate }) => headgate?.evaluation?.isHeaviest === true);
    const isLate = listed.every(({ headgate }) => (headgate?.evaluation?.lateMs ?? -1) >= 0);
    return isLate && heaviest.length === 1 && heaviest[0]?.id.startsWith('heavy') === true;
  });
  for (const { headgate } of await evaluations(corp))
    expect(headgate?.evaluation).toEqual({
      milliseconds: expect.any(Number),
      isHeaviest: expect.any(Boolean),
    });
  for (const [org, receiver] of [
    ['acme', ours],
    ['corp', theirs],
  ] as const) {
    expect((await push(installed, org, 'events', keys(2).map(alarm))).status).toBe(200);
    await until(() => receiver.events().length === 2);
  }
});
