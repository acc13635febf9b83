import { expect, it } from 'vitest';
import { eachDeployment, itemsOf } from './deployments.ts';

eachDeployment('groups', ({ call }, kind) => {
  it('are made, found below their own path, changed, and removed when nothing is in them', async () => {
    for (const [index, place] of ['/master/groups', '/products/stream/groups'].entries()) {
      const id = `shops${index}`;
      expect((await call('GET', `/m/${id}/system/inputs`)).status).toBe(404);
      // What an SDK of the family sends beside the id makes no difference.
      const asked = { id, description: 'All shops', onPrem: true, workerRemoteAccess: true, isFleet: false };
      const [made] = await itemsOf(call('POST', place, asked));
      expect(made).toMatchObject({ id, name: id, description: 'All shops', isFleet: false, type: 'stream' });
      expect((await call('POST', place, { id })).body.message).toContain('already exists');
      expect(await itemsOf(call('GET', `/m/${id}/system/inputs`))).toEqual([]);
      expect((await itemsOf(call('GET', place))).map(one => one.id)).toContain(id);
      // A read form is accepted back.
      expect(await itemsOf(call('PATCH', `${place}/${id}`, { ...made, name: 'Shops' }))).toMatchObject([
        { id, name: 'Shops', description: 'All shops' },
      ]);
      expect((await call('PATCH', `${place}/${id}`, { id: 'other' })).status).toBe(400);
      await itemsOf(call('POST', `/m/${id}/system/inputs`, { id: `app${index}`, type: 'syslog' }));
      const used = await call('DELETE', `${place}/${id}`);
      expect([used.status, used.body.message]).toEqual([409, expect.stringContaining('not empty')]);
      await itemsOf(call('DELETE', `/m/${id}/system/inputs/app${index}`));
      expect(await itemsOf(call('DELETE', `${place}/${id}`))).toMatchObject([{ id, name: 'Shops' }]);
      expect(await itemsOf(call('GET', `${place}/${id}`))).toEqual([]);
      expect((await call('GET', `/m/${id}/system/inputs`)).status).toBe(404);
    }
    expect((await call('DELETE', '/master/groups/default')).status).toBe(409);
  });

  it('are deployed by what every client does: write, commit, deploy', async () => {
    await itemsOf(call('POST', '/m/default/system/inputs', { id: 'till', type: 'http' }));
    const [commit] = await itemsOf(
      call('POST', '/m/default/version/commit', { message: 'a till', effective: true, group: 'default' }),
    );
    for (const place of ['/products/stream/groups', '/master/groups']) {
      const deployed = await itemsOf(call('PATCH', `${place}/default/deploy`, { version: commit.commit }));
      expect(deployed).toMatchObject([{ id: 'default', configVersion: commit.commit }]);
      expect(await itemsOf(call('GET', `${place}/default/configVersion`))).toEqual([commit.commit]);
      expect((await call('PATCH', `${place}/default/deploy`, { version: 'never' })).status).toBe(404);
      expect((await call('PATCH', `${place}/none/deploy`, { version: commit.commit })).status).toBe(404);
      expect(await itemsOf(call('GET', `${place}/default/acl`))).toEqual([]);
    }
    expect(await itemsOf(call('GET', '/m/default/version/count'))).toEqual([{ count: 0 }]);
  });

  it('are listed for one product, so that nobody counts them twice', async () => {
    expect((await itemsOf(call('GET', '/products/stream/groups'))).map(one => one.id)).toEqual(['default']);
    expect(await itemsOf(call('GET', '/products/edge/groups'))).toEqual([]);
    expect(await itemsOf(call('GET', '/products/edge/groups/default'))).toEqual([]);
    expect(await call('POST', '/products/edge/groups', { id: 'fleet' })).toMatchObject({
      status: 404,
      body: { code: 'not-offered' },
    });
  });

  it('answer below their path what they have in common', async () => {
    await itemsOf(call('POST', '/m/default/notification-targets', { id: 'bell', type: 'bulletin_message' }));
    for (const path of [
      '/notification-targets',
      '/notification-targets/bell',
      '/system/messages',
      '/system/roles',
    ])
      expect((await call('GET', `/m/default${path}`)).body, path).toEqual((await call('GET', path)).body);
    const own =
      kind === 'self-managed' ? ['/system/users', '/system/users/admin', '/system/settings/auth'] : [];
    for (const path of ['/system/info', '/system/settings/conf', '/system/secrets', ...own])
      expect((await call('GET', `/m/default${path}`)).status, path).toBe(200);
    expect((await call('GET', '/m/none/notification-targets')).status).toBe(404);
  });
});

eachDeployment('what a whole group has elsewhere', ({ call }) => {
  it.each(['pipelines', 'routes', 'packs', 'functions'])(
    'is an empty list of %s, and nothing to write',
    async name => {
      for (const path of [`/${name}`, `/m/default/${name}`]) {
        expect((await call('GET', `${path}?limit=10`)).body).toEqual({
          ...{ items: [], count: 0 },
          ...{ offset: 0, limit: 10, totalCount: 0 },
        });
        expect((await call('GET', `${path}/default`)).body).toEqual({ items: [], count: 0 });
        expect(await call('POST', path, {})).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
        expect(await call('PATCH', `${path}/default`, {})).toMatchObject({ status: 405 });
      }
    },
  );

  it('is no key of ours', async () => {
    expect(await itemsOf(call('GET', '/system/keys'))).toEqual([]);
    expect(await itemsOf(call('GET', '/m/default/system/keys'))).toEqual([]);
  });

  it.each([
    ...[
      '/system/lookups',
      '/m/default/system/lookups',
      '/lib/jobs',
      '/m/default/lib/jobs/x',
      '/jobs',
      '/collectors',
    ],
    ...[
      '/products/lake/lakes/default/datasets',
      '/m/default_search/search/jobs',
      '/w/node-1/health',
      '/p/pack/routes',
    ],
    ...['/system/licenses/usage', '/system/teams', '/system/outputs/lake/test', '/system/banners'],
  ])('is said not to be part of Headgate at %s', async path => {
    const { status, body } = await call('GET', path);
    expect([status, body.code, body.message]).toEqual([
      404,
      'not-offered',
      expect.stringMatching(/^Headgate does not have [^.]+$/),
    ]);
  });

  it.each(['/sytem/inputs', '/system/lookup', '/m/default/nothing'])(
    'is not what was mistyped as %s',
    async path => {
      expect(await call('GET', path)).toMatchObject({ status: 404, body: { code: 'not-found' } });
    },
  );

  it('is listed with what is offered', async () => {
    const rows = await itemsOf(call('GET', '/compatibility'));
    const stateOf = (method: string, path: string) =>
      rows.find(row => row.method === method && row.path === path)?.state;
    expect(stateOf('GET', '/health')).toBe('offered');
    expect(stateOf('GET', '/system/inputs/{id}')).toBe('different');
    expect(stateOf('POST', '/pipelines')).toBe('not-offered');
    expect(stateOf('PATCH', '/products/{product}/groups/{id}/deploy')).toBe('different');
    const left = await itemsOf(call('GET', '/compatibility?state=not-offered'));
    expect(left.every(row => row.note.length > 10)).toBe(true);
    expect(left.length).toBeLessThan(rows.length);
  });
});
