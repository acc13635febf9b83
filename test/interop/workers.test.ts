import { expect, it } from 'vitest';
import { eachDeployment, itemsOf } from './deployments.ts';

eachDeployment('the processes', ({ call }, kind) => {
  it('are the workers, and are counted', async () => {
    await itemsOf(call('POST', '/system/inputs', { id: 'app', type: 'syslog' }));
    await itemsOf(call('POST', '/system/outputs', { id: 'lake', type: 's3' }));
    for (const place of ['/master', '/products/stream']) {
      const [worker, ...others] = await itemsOf(call('GET', `${place}/workers`));
      expect(others).toEqual([]);
      expect(worker).toMatchObject({
        ...{ id: expect.any(String), group: 'default', status: 'healthy', workerProcesses: 1 },
        info: { cribl: { distMode: 'worker', version: expect.any(String), guid: worker.id } },
      });
      expect(worker.lastMsgTime).toBeGreaterThanOrEqual(worker.firstMsgTime);
      expect((await call('GET', `${place}/workers/${worker.id}`)).body.code).toBe('not-offered');
      expect(await itemsOf(call('GET', `${place}/summary/workers`))).toEqual([1]);
      const [summary] = await itemsOf(call('GET', `${place}/summary`));
      expect(summary).toMatchObject({
        groups: { count: 1, sources: 1, destinations: 1, pipelines: 0, routes: 0, packs: 0 },
        workers: { alive: 1, count: 1, disconnectedCount: 0, unhealthy: 0, softwareVersions: 1 },
      });
    }
    expect(await itemsOf(call('GET', '/master/outputs'))).toEqual([]);
  });

  it('show the machine only to whom it belongs', async () => {
    const [{ info }] = await itemsOf(call('GET', '/master/workers'));
    const isOwn = kind === 'self-managed';
    for (const name of ['hostname', 'platform', 'release', 'architecture', 'node'])
      expect(info[name].length > 0, name).toBe(isOwn);
    for (const name of ['cpus', 'totalmem', 'freemem']) expect(info[name] > 0, name).toBe(isOwn);
  });

  it('are none of another product', async () => {
    expect(await itemsOf(call('GET', '/products/edge/workers'))).toEqual([]);
    expect(await itemsOf(call('GET', '/products/edge/summary/workers'))).toEqual([0]);
    expect((await itemsOf(call('GET', '/master/summary?mode=managed-edge')))[0].groups.count).toBe(0);
  });

  it('work together without one that leads others over the network', async () => {
    for (const path of ['/system/instance', '/system/instance/distributed', '/m/default/system/instance'])
      expect(await itemsOf(call('GET', path))).toMatchObject([{ id: 'distributed', mode: 'single' }]);
  });
});

eachDeployment('versions', ({ call }) => {
  it('leave nothing to undo, and have no remote', async () => {
    for (const group of ['', '/m/default']) {
      expect(await itemsOf(call('POST', `${group}/version/undo`))).toEqual([]);
      for (const path of ['push', 'sync'])
        expect(await call('POST', `${group}/version/${path}`)).toMatchObject({
          status: 404,
          body: { code: 'not-offered', message: expect.stringContaining('a remote') },
        });
    }
  });

  it('are for nobody in a group alone', async () => {
    for (const place of ['/master/groups', '/products/stream/groups'])
      for (const name of ['acl', 'acl/teams'])
        expect(await itemsOf(call('GET', `${place}/default/${name}`))).toEqual([]);
  });
});
