import { ask, type HostedAnswer, type HostedCall } from './hosted.ts';
import type { HostedApp } from './hosted-app.ts';
import { until } from './until.ts';

/** Stands in every id, name and secret that is chosen for the tenant whose things these are. */
export const MARK = 'okapi';
const named = (what: string): string => `${MARK}_${what}`;
export const GROUP = named('group');

/** What there is of one tenant, under an id of each kind. */
export interface Things {
  /** Ids as they stand in a path, by noun of the route and name of the place, `incidents.id`. */
  readonly places: ReadonlyMap<string, string>;
  /** Whatever must never come to anybody else: the mark and what was generated. */
  readonly telling: readonly string[];
  readonly ingestToken: string;
}

type Call = (path: string, call?: HostedCall) => Promise<HostedAnswer>;

/** Calls the API of a workspace, by its label. */
export const apiOf =
  (app: Pick<HostedApp, 'url' | 'port'>, label: string, token: string): Call =>
  (path, call) =>
    ask(`${app.url}/api/v1${path}`, { host: `${label}.localhost:${app.port}`, token, ...call });

/** Makes something of every kind in the workspace that `api` calls. */
export async function makeThings(api: Call, pushed: Call): Promise<Things> {
  const send = async (method: string, path: string, body: object) => {
    const answer = await api(path, { method, body });
    if (answer.status !== 200)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.items[0];
  };
  const pipeline = { id: named('edge'), engine: 'custom', push: true, group: GROUP };
  await send('PATCH', '/system/settings/conf', {
    pipelines: [pipeline],
    // What cannot be sent stays as it is after the first attempt.
    delivery: { retrySchedule: ['0s', '1h'] },
  });
  await send('PUT', `/system/secrets/${named('key')}`, { value: named('secret_value') });
  for (const target of [
    { id: named('bell'), type: 'bulletin_message' },
    // Nobody listens there.
    {
      ...{ id: named('hook'), type: 'webhook', url: `http://127.0.0.1:9/${named('path')}`, ...CREDENTIALS },
      preset: 'alertmanager',
    },
  ])
    await send('POST', '/notification-targets', target);
  await send('POST', `/m/${GROUP}/notifications`, {
    id: named('found'),
    condition: 'search',
    targets: [named('bell'), named('hook')],
    conf: { savedQueryId: named('query'), message: named('message_text') },
  });
  await send('POST', `/m/${GROUP}/system/inputs`, { id: named('input'), type: 'syslog' });
  await send('POST', `/m/${GROUP}/system/outputs`, { id: named('output'), type: 's3' });
  await send('POST', '/system/messages', { id: named('note'), title: named('title'), text: named('text') });
  const sender = { id: named('sender'), pipeline: pipeline.id };
  const { secret: ingestToken } = await send('POST', '/system/ingest-tokens', sender);
  const event = { condition: 'search', key: named('query'), state: 'ALARM', fields: { by: named('field') } };
  const { status } = await pushed('/ingest/events', { method: 'POST', token: ingestToken, body: event });
  if (status !== 200) throw new Error(`/ingest/events: ${status}`);

  await send('POST', '/silences', {
    id: named('quiet'),
    matchers: [{ name: 'team', value: named('team') }],
    until: 'resolved',
    comment: named('comment'),
  });
  await send('POST', '/inhibitions', {
    id: named('first'),
    when: [{ name: 'team', value: named('team') }],
    hold: [{ name: 'team', value: named('held_team') }],
  });
  const newest = async (path: string) => (await api(path)).body.items[0] ?? {};
  const waiting = `/deliveries?target=${named('hook')}`;
  await until(async () => (await newest(waiting)).attempts === 1, 'the delivery that waits');
  // Its alarms are open elsewhere from then on.
  await send('PATCH', `/notification-targets/${named('hook')}`, { preset: 'incident_io' });
  await until(async () => (await newest('/kept-settings')).id !== undefined, 'the settings that are kept');
  const keptSettings: string = (await newest('/kept-settings')).id;
  const incident: string = (await newest('/incidents')).id;
  const delivery: string = (await newest(waiting)).id;
  const version: string = (await newest('/version')).hash;
  const places = new Map([
    ['inputs.id', named('input')],
    ['outputs.id', named('output')],
    ['notifications.id', named('found')],
    ['inhibitions.id', named('first')],
    ['targets.id', named('hook')],
    ['keptSettings.id', keptSettings],
    ['incidents.id', incident],
    ['deliveries.id', delivery],
    ['messages.id', named('note')],
    ['silences.id', named('quiet')],
    ['groups.id', GROUP],
    ['secrets.name', named('key')],
    ['ingestTokens.id', sender.id],
    ['ingestTokens.pipeline', pipeline.id],
    ['versions.commit', version],
  ]);
  return { places, telling: [MARK, ingestToken, incident, delivery, version], ingestToken };
}

const CREDENTIALS = {
  authType: 'basic',
  username: named('user'),
  password: `\${secret:${named('key')}}`,
};
