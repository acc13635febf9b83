import { expect, it } from 'vitest';
import { eachDeployment, itemsOf } from './deployments.ts';

eachDeployment('the health of inputs and outputs', ({ call }) => {
  it.each([
    ['inputs', { id: 'app', type: 'syslog' }],
    ['outputs', { id: 'lake', type: 's3' }],
  ])('puts the type before the ids of %s when `type` is true, and leaves none out', async (kind, made) => {
    await itemsOf(call('POST', `/system/${kind}`, made));
    const { id, type } = made;
    const listed = async (query: string) =>
      (await itemsOf(call('GET', `/system/status/${kind}${query}`))).map(one => one.id);
    for (const query of ['', '?type=false', '?metrics=true&type=false', `?type=${type}`])
      expect(await listed(query), query).toEqual([id]);
    expect(await listed('?type=true&metrics=true')).toEqual([`${type}:${id}`]);
    expect(await listed('?type=http')).toEqual([]);
    for (const path of [id, `${type}:${id}`, encodeURIComponent(`${type}:${id}`)]) {
      const one = `/system/status/${kind}/${path}`;
      expect(await itemsOf(call('GET', `${one}?type=true`))).toMatchObject([
        { id: `${type}:${id}`, type, status: { healthCounts: {}, metrics: {} } },
      ]);
      expect(await itemsOf(call('GET', `/m/default${one}?type=false`))).toMatchObject([{ id }]);
    }
    expect((await call('GET', `/system/status/${kind}/http:${id}`)).status).toBe(404);
  });
});
