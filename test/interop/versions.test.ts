import { expect, it } from 'vitest';
import { eachDeployment, itemsOf } from './deployments.ts';

eachDeployment('versions', ({ call }) => {
  it('answers the branch to those who read an object and to those who read a list', async () => {
    for (const group of ['', '/m/default']) {
      const { status, body } = await call('GET', `${group}/version/current-branch`);
      expect(status).toBe(200);
      expect(body).toEqual({ branch: 'main', items: [{ branch: 'main' }], count: 1 });
    }
  });

  it('counts the files that have changed since a version, so that there is nothing to commit', async () => {
    const counted = async (query: string) => (await itemsOf(call('GET', `/version/count${query}`)))[0].count;
    await itemsOf(call('POST', '/notification-targets', { id: 'bell', type: 'bulletin_message' }));
    const [start] = await itemsOf(call('GET', '/version?limit=1'));
    expect(await counted('')).toBe(0);
    await itemsOf(call('POST', '/notification-targets', { id: 'second', type: 'bulletin_message' }));
    await itemsOf(call('POST', '/system/inputs', { id: 'app', type: 'syslog' }));
    await itemsOf(call('PATCH', '/system/inputs/app', { disabled: true }));
    expect(await counted('')).toBe(0);
    expect(await counted(`?commit=${start.hash}`)).toBe(2);
    expect(await counted(`?ID=${start.hash}`)).toBe(2);
    expect((await call('GET', '/version/count?ID=nobody')).status).toBe(404);
  });
});
