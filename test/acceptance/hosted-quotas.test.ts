import { expect, it } from 'vitest';
import { ask, type HostedCall, METRICS_TOKEN, twoOrganizations } from '../helpers/hosted.ts';
import { until } from '../helpers/until.ts';
import { sink, stop, webhook } from './harness.ts';
import { alarm, keys, monitors, POSTING } from './posting.ts';

type Installed = Awaited<ReturnType<typeof twoOrganizations>>;

/** The API of a workspace, for the owner of its organization. */
const workspaceOf =
  ({ api, tokenOf }: Installed, org: string) =>
  (path: string, call: HostedCall = {}) =>
    api(`main-${org}`, path, { token: tokenOf(org), ...call });

/** What a pipeline of the workspace hands in. */
const push = ({ port }: Installed, org: string, path: string, body: unknown) =>
  ask(`http://127.0.0.1:${port}/ingest/${path}`, {
    host: `main-${org}.localhost:${port}`,
    method: 'POST',
    token: POSTING.token,
    body,
  });

async function configure(workspace: ReturnType<typeof workspaceOf>, items: readonly [string, object][]) {
  const pipelines = { method: 'PATCH', body: { pipelines: [POSTING] } };
  expect((await workspace('/system/settings/conf', pipelines)).status).toBe(200);
  for (const [path, body] of items)
    expect((await workspace(path, { method: 'POST', body })).body).toMatchObject({ count: 1 });
}

it('refuses targets and notifications over their quota, naming it, and keeps the others', async () => {
  const installed = await twoOrganizations({ targets: 1, notifications: 1 });
  const acme = workspaceOf(installed, 'acme');
  const bell = { id: 'bell', type: 'bulletin_message' };
  const posted = monitors('bell');
  await configure(acme, [
    ['/notification-targets', bell],
    ['/notifications', posted],
  ]);
  for (const [path, what, body] of [
    ['/notification-targets', 'targets', { ...bell, id: 'more' }],
    ['/notifications', 'notifications', { ...posted, id: 'more' }],
  ] as const) {
    const { status, body: answer } = await acme(path, { method: 'POST', body });
    expect([status, answer.code]).toEqual([400, 'invalid-request']);
    expect(answer.message).toContain(
      `2 ${what} are more than the 1 that a workspace may have (hosted.quotas.${what}); remove some, or ask the operator of this service for more`,
    );
    expect((await acme(path)).body.count).toBe(1);
  }
  const corp = workspaceOf(installed, 'corp');
  expect((await corp('/notification-targets', { method: 'POST', body: bell })).status).toBe(200);
});

it('takes no more inputs and outputs than a workspace may have, says so, and goes on with those it has', async () => {
  const installed = await twoOrganizations({ components: 2 });
  const [acme, corp] = [workspaceOf(installed, 'acme'), workspaceOf(installed, 'corp')];
  for (const workspace of [acme, corp]) await configure(workspace, []);
  const samples = (...ids: string[]) => ({
    samples: ids.map(id => ({ kind: 'input', id, metric: 'in_events', value: 1 })),
  });
  expect(await push(installed, 'acme', 'samples', samples('a', 'b', 'c'))).toMatchObject({
    status: 200,
    body: { accepted: 2 },
  });
  expect(await push(installed, 'corp', 'samples', samples('c', 'd'))).toMatchObject({
    body: { accepted: 2 },
  });
  const [engine] = (await acme('/system/engines')).body.items;
  expect(engine).toMatchObject({
    state: 'reachable',
    components: 2,
    error: expect.stringContaining(
      'inputs and outputs beyond the 2 that a workspace may have over all its pipelines (hosted.quotas.components) are refused',
    ),
  });
  expect((await corp('/system/engines')).body.items[0].error).toBeUndefined();
  expect((await acme('/system/inputs')).body.items.map(({ id }: { id: string }) => id)).toEqual(['a', 'b']);
  const metrics = await ask(`${installed.served.url}/metrics`, { token: METRICS_TOKEN });
  expect(metrics.body).toContain(
    'headgate_pipeline_refused_total{pipeline="edge",kind="components",workspace="main",organization="acme"} 1',
  );
});

it('lets deliveries over the quota of a workspace wait, says so, loses none, and holds up no other', async () => {
  const installed = await twoOrganizations({ deliveriesPerMinute: 3 });
  const [ours, theirs] = [await sink(), await sink()];
  const [acme, corp] = [workspaceOf(installed, 'acme'), workspaceOf(installed, 'corp')];
  for (const [workspace, receiver] of [
    [acme, ours],
    [corp, theirs],
  ] as const)
    await configure(workspace, [
      ['/notification-targets', { ...webhook('hook', receiver), maxPayloadEvents: 1 }],
      ['/notifications', monitors('hook')],
    ]);
  const many = keys(8);
  expect((await push(installed, 'acme', 'events', many.map(alarm))).status).toBe(200);
  await until(() => ours.events().length === 3);
  const heldBecause = async (workspace: typeof acme): Promise<string | undefined> =>
    (await workspace('/notification-targets/hook')).body.items[0].status.heldBecause;
  await until(async () => (await heldBecause(acme)) !== undefined);
  expect(await heldBecause(acme)).toBe(
    'the workspace has begun the 3 deliveries that it may begin in a minute (hosted.quotas.deliveriesPerMinute); what is over waits its turn. Ask the operator of this service for more',
  );

  expect((await push(installed, 'corp', 'events', keys(2).map(alarm))).status).toBe(200);
  await until(() => theirs.events().length === 2);
  expect(await heldBecause(corp)).toBeUndefined();
  expect(ours.events()).toHaveLength(3);

  const told = () =>
    installed.served.records().filter(({ msg }) => msg === 'deliveries of the workspace wait');
  await until(() => told().length > 0, 'the log of deliveries that wait');
  expect(told()).toMatchObject([{ level: 'warn', workspace: 'main-acme' }]);
  const metrics = await ask(`${installed.served.url}/metrics`, { token: METRICS_TOKEN });
  expect(metrics.body).toContain(
    'headgate_deliveries_quota_reached_total{workspace="main",organization="acme"} 1',
  );

  // A minute begins anew with the process, and what waits is on disk.
  let { served } = installed;
  for (const arrived of [6, 8]) {
    await stop(served);
    served = await installed.serve();
    await until(() => ours.events().length >= arrived);
  }
  expect(new Set(ours.events().map(({ _raw }) => _raw)).size).toBe(many.length);
});
