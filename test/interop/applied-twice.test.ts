import { expect, it } from 'vitest';
import { eachDeployment, itemsOf } from './deployments.ts';

const KEPT = { token: 'kept', password: 'wrenched-otter-lamps' };

type Applied = readonly [path: string, body: Readonly<Record<string, unknown>>, where?: 'self-managed'];

/** Bodies as declarative clients hold them, and the paths that they are sent to. */
const BODIES: readonly Applied[] = [
  [
    '/notification-targets',
    { id: 'hook', type: 'webhook', url: 'https://example.com/x', authType: 'token', token: KEPT.token },
  ],
  [
    '/notification-targets',
    {
      ...{ id: 'mail', type: 'smtp', host: 'mail.example.com', port: 587, from: 'ops@example.com' },
      ...{ smtpUsername: 'ops', smtpPassword: KEPT.password },
    },
  ],
  ['/notifications', { id: 'bare', condition: 'no-data', targets: ['hook'], conf: { name: 'syslog:app' } }],
  [
    '/notifications',
    {
      ...{ id: 'spoken', condition: 'high-volume', targets: ['hook', 'mail'], severity: 'warn' },
      conf: { name: 'syslog:app', timeWindow: '60s', notifyOnResolution: true, dataVolume: '1GB' },
      targetConfigs: [{ id: 'mail', conf: { emailRecipient: { to: 'ops@example.com' } } }],
    },
  ],
  [
    '/inhibitions',
    {
      id: 'host_down',
      when: [{ name: 'condition', op: '=', value: 'pipeline-unreachable' }],
      hold: [{ name: 'severity', op: '=~', value: 'info|warn' }],
      equal: ['pipeline'],
    },
  ],
  [
    '/system/inputs',
    { id: 'app', type: 'syslog', disabled: false, password: KEPT.password, tag: { own: 1 } },
  ],
  ['/system/outputs', { id: 'lake', type: 's3', description: 'The lake' }],
  ['/master/groups', { id: 'shops', name: 'Shops', description: 'All shops' }],
  [
    '/system/users',
    { id: 'ann', username: 'ann', password: KEPT.password, roles: ['reader'] },
    'self-managed',
  ],
];

/** What a read differs in from what was sent. Secrets are masked, and no read has the password of a user. */
function differences(sent: unknown, read: unknown, path: string): string[] {
  if (typeof sent === 'string' && Object.values<string>(KEPT).includes(sent))
    return read === '********' || read === undefined ? [] : [path];
  if (Array.isArray(sent) && Array.isArray(read) && sent.length === read.length)
    return sent.flatMap((one, index) => differences(one, read[index], `${path}[${index}]`));
  if (typeof sent === 'object' && sent !== null && typeof read === 'object' && read !== null)
    return Object.entries(sent).flatMap(([key, one]) =>
      differences(one, Reflect.get(read, key), path === '' ? key : `${path}.${key}`),
    );
  return sent === read ? [] : [path];
}

eachDeployment('a body', ({ call }, kind) => {
  const versions = async () => (await call('GET', '/version?limit=1')).body.totalCount;

  const applied = BODIES.filter(([, , where]) => where === undefined || where === kind);
  it.each(applied.map(([path, body]) => [path, body] as const))(
    'that is applied twice at %s makes no difference the second time: %j',
    async (path, body) => {
      const [made] = await itemsOf(call('POST', path, body));
      const at = `${path}/${String(body.id)}`;
      const [read] = await itemsOf(call('GET', at));
      expect(differences(body, made, '')).toEqual([]);
      expect(differences(body, read, '')).toEqual([]);
      const before = await versions();
      const [again] = await itemsOf(call('PATCH', at, body));
      expect({ ...again, updatedAt: '' }).toEqual({ ...read, updatedAt: '' });
      const [after] = await itemsOf(call('GET', at));
      expect({ ...after, updatedAt: '' }).toEqual({ ...read, updatedAt: '' });
      expect(await versions()).toBe(before);
    },
  );

  it('of a notification is answered with the conf that was written, and with every default when asked', async () => {
    const conf = { name: 'syslog:late' };
    const body = { id: 'late', condition: 'no-data', targets: ['hook'], conf };
    const made = await call('POST', '/notifications', body);
    expect(made.body.items).toMatchObject([{ conf, targetConfigs: [], severity: 'warn' }]);
    expect(made.body.items[0].conf).toEqual(conf);
    const filled = { name: 'syslog:late', timeWindow: '60s', notifyOnResolution: true };
    const one = await call('GET', '/notifications/late?effective=true');
    expect(one.body.items[0].conf).toEqual(filled);
    // The tag is that of the notification, whatever of it was asked for.
    expect(one.headers.etag).toBe(made.headers.etag);
    const [listed] = (await itemsOf(call('GET', '/notifications'))).filter(({ id }) => id === 'late');
    expect(listed.conf).toEqual(conf);
    const all = await itemsOf(call('GET', '/notifications?effective=true'));
    expect(all.find(({ id }) => id === 'late').conf).toEqual(filled);
    expect((await call('GET', '/notifications/late?effective=yes')).status).toBe(400);

    // A default that is written is answered; one that is taken back is not.
    const written = { ...conf, notifyOnResolution: true };
    const patched = await call(
      'PATCH',
      '/notifications/late',
      { conf: written },
      {
        headers: { 'if-match': String(one.headers.etag) },
      },
    );
    expect(patched.body.items[0].conf).toEqual(written);
    const merged = await itemsOf(call('PATCH', '/notifications/late', { conf: { timeWindow: '5m' } }));
    expect(merged[0].conf).toEqual({ ...written, timeWindow: '5m' });
    const less = await itemsOf(
      call('PATCH', '/notifications/late', { conf: { timeWindow: null, notifyOnResolution: null } }),
    );
    expect(less[0].conf).toEqual(conf);
  });
});
