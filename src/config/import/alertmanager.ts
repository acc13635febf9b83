// Over 600 lines because receivers, routes, intervals and inhibitions of the one file share what is read of it, and nothing else needs them.
import { basename, dirname } from 'node:path';
import { RESERVED_FIELDS } from '../../events/system-fields.ts';
import { AppError } from '../../lib/errors.ts';
import { isMap, type PlainMap } from '../plain.ts';
import { quote } from '../problems.ts';
import {
  type Conversion,
  type Draft,
  Moved,
  placeIn,
  readForeign,
  type SourcePlace,
  shortOf,
} from './moved.ts';

const NOTIFICATION = 'alertmanager';
const ROUTER = 'alertmanager_routes';

type Steps = readonly (string | number)[];

/** What is read of the file, and where it stands. */
interface Reading {
  readonly moved: Moved;
  readonly place: SourcePlace;
  readonly global: PlainMap;
  /** Keys of `global` that something has used. */
  readonly used: Set<string>;
  /** Labels that have another name here, which is reported once. */
  readonly renamed: Map<string, string>;
  /** What single targets need to know of the notification. */
  readonly targetConfigs: Draft[];
}

/**
 * Converts the configuration of an Alertmanager: receivers to targets, routes to a router, inhibition rules to inhibitions.
 * Throws `not-found` for a missing file, and `invalid-request`, naming the place, for one that cannot be read.
 */
export function importAlertmanager(path: string): Conversion {
  const document = readForeign(dirname(path), basename(path));
  if (document.text === undefined) throw new AppError('not-found', `there is no file '${path}'`);
  const content: PlainMap = { ...document.value };
  const moved = new Moved();
  const reading: Reading = {
    moved,
    place: placeIn(document, []),
    global: mapOf(content.global),
    used: new Set(),
    renamed: new Map(),
    targetConfigs: [],
  };
  const receivers = readReceivers(reading, content.receivers);
  const { route } = content;
  if (isMap(route)) addRoutes(reading, route, { receivers, intervals: readIntervals(reading, content) });
  else refuse(reading, ['route'], `must be a map of settings, not ${shortOf(route)}`);
  addInhibitions(reading, content.inhibit_rules);
  reportRest(reading, content);
  return moved.finish();
}

const KNOWN = ['global', 'route', 'receivers', 'inhibit_rules', 'time_intervals', 'mute_time_intervals'];

function reportRest({ moved, place, global, used, renamed }: Reading, content: PlainMap): void {
  for (const key of Object.keys(content))
    if (!KNOWN.includes(key))
      moved.leftOut(
        place([key]),
        key === 'templates'
          ? 'templates: Headgate writes its messages itself; see srcExpression of a webhook and subject and body of mail'
          : `${key}: Headgate has nothing like it`,
      );
  for (const key of Object.keys(global))
    if (!used.has(key)) moved.leftOut(place(['global', key]), `global.${key}: nothing here uses it`);
  for (const [label, field] of renamed)
    moved.changed(place(['route']), `the label ${quote(label)} is the field ${field}: send it by that name`);
}

function refuse({ place }: Reading, path: Steps, message: string): never {
  throw new AppError('invalid-request', `${place(path)}: ${message}`);
}

const mapOf = (value: unknown): PlainMap => (isMap(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
const wordOf = (text: string): string => text.replace(/[^\w-]+/g, '_').slice(0, 200) || '_';

// Receivers

/** One entry of a receiver while it is converted: what it does not ask for is left over. */
class Entry {
  readonly id: string;
  readonly #reading: Reading;
  readonly #path: Steps;
  readonly #value: PlainMap;
  readonly #asked = new Set<string>(['send_resolved']);

  constructor(reading: Reading, id: string, path: Steps, value: PlainMap) {
    this.#reading = reading;
    this.id = id;
    this.#path = path;
    this.#value = value;
  }

  /** The value of the entry, else that of `global`. */
  get(key: string, globalKey?: string): unknown {
    this.#asked.add(key);
    if (this.#value[key] !== undefined || globalKey === undefined) return this.#value[key];
    this.#reading.used.add(globalKey);
    return this.#reading.global[globalKey];
  }

  text(key: string, globalKey?: string): string | undefined {
    return textOf(this.get(key, globalKey));
  }

  /** A reference to a secret that the file has, or that another file has which it names. Undefined where it has none. */
  secret(key: string, setting: string, globalKey?: string): string | undefined {
    const inFile = this.text(`${key}_file`, globalKey && `${globalKey}_file`);
    const text = this.text(key, globalKey);
    if (text === undefined && inFile === undefined) return undefined;
    return this.stored(setting, text === undefined ? `what ${inFile} has` : `what ${key} has`);
  }

  /** A reference to a secret of this entry; `from` says to a person what to store. */
  stored(setting: string, from: string): string {
    const text = this.#reading.moved.secret(this.id, setting);
    this.changed(`${setting} is ${text}: store ${from}`);
    return text;
  }

  changed(message: string): void {
    this.#reading.moved.changed(this.place(), `targets.${this.id}: ${message}`);
  }

  place(path: Steps = []): string {
    return this.#reading.place([...this.#path, ...path]);
  }

  /** Adds the target and reports what was not asked for. */
  add(target: Draft | undefined, reason = ''): boolean {
    const { moved, place } = this.#reading;
    if (target === undefined) {
      moved.leftOut(this.place(), `targets.${this.id}: ${reason}`);
      return false;
    }
    moved.add('targets', { id: this.id, ...target }, (path = []) =>
      path.length === 0 ? this.place() : place(this.#path),
    );
    if (this.#value.send_resolved === false)
      moved.leftOut(this.place(['send_resolved']), `targets.${this.id}: the end of an alarm is sent, too`);
    for (const key of Object.keys(this.#value))
      if (!this.#asked.has(key))
        moved.leftOut(
          this.place([key]),
          `targets.${this.id}: ${key}: Headgate has no equal, or writes it itself`,
        );
    return true;
  }

  mailTo(to: string): void {
    this.#reading.targetConfigs.push({ id: this.id, conf: { emailRecipient: { to } } });
  }
}

type Receiver = (entry: Entry) => Draft | string;

/** Each kind of entry and its target, or why there is none. */
const RECEIVERS: Readonly<Record<string, Receiver>> = {
  webhook_configs(entry) {
    const url = entry.text('url') ?? entry.secret('url', 'url');
    entry.changed("gets Headgate's events as a list, not Alertmanager's body");
    return url === undefined
      ? 'it has no url'
      : { type: 'webhook', url, format: 'json_array', ...httpOf(entry) };
  },
  slack_configs(entry) {
    const slackUrl = entry.secret('api_url', 'slackUrl', 'slack_api_url');
    return slackUrl === undefined ? 'it has no api_url' : { type: 'slack', slackUrl };
  },
  pagerduty_configs(entry) {
    const routingKey = entry.secret('routing_key', 'routingKey');
    if (routingKey === undefined) return 'it has no routing_key: keys of the old Events API are not taken';
    const severity = entry.text('severity') ?? 'error';
    const isWord = ['info', 'warning', 'error', 'critical'].includes(severity);
    if (!isWord) entry.changed("severity is 'error', as it was a template");
    const details = Object.fromEntries(
      ['class', 'component', 'group'].flatMap(key => {
        const text = entry.text(key);
        return text === undefined || text.includes('{{') ? [] : [[key, text]];
      }),
    );
    return { type: 'pager_duty', routingKey, severity: isWord ? severity : 'error', ...details };
  },
  email_configs(entry) {
    const [, host, port = '25'] =
      /^\[?(.+?)\]?(?::(\d+))?$/.exec((entry.text('smarthost', 'smtp_smarthost') ?? '').slice(0, 300)) ?? [];
    const to = entry.text('to');
    if (host === undefined || to === undefined) return 'it has no smarthost, or no recipient';
    entry.mailTo(to);
    const isRequired = entry.get('require_tls', 'smtp_require_tls') !== false;
    const hello = entry.text('hello', 'smtp_hello');
    const smtpUsername = entry.text('auth_username', 'smtp_auth_username') ?? '';
    const smtpPassword = entry.secret('auth_password', 'smtpPassword', 'smtp_auth_password') ?? '';
    return {
      type: 'smtp',
      host,
      port: Number(port),
      from: entry.text('from', 'smtp_from'),
      smtpUsername: smtpPassword === '' ? '' : smtpUsername,
      smtpPassword: smtpUsername === '' ? '' : smtpPassword,
      encryptionOption: port === '465' ? 'TLS' : isRequired ? 'STARTTLS_REQUIRED' : 'STARTTLS',
      ...(hello?.includes('.') && { ehloName: hello }),
    };
  },
  sns_configs(entry) {
    const topicArn = entry.text('topic_arn');
    const phoneNumber = entry.text('phone_number');
    const sigv4 = mapOf(entry.get('sigv4'));
    const region = textOf(sigv4.region) ?? topicArn?.split(':')[3];
    if (region === undefined || (topicArn ?? phoneNumber) === undefined)
      return 'it has no region, or no topic or phone';
    const isFifo = topicArn?.endsWith('.fifo') === true;
    const endpoint = entry.text('api_url');
    return {
      type: 'sns',
      region,
      destinationType: topicArn === undefined ? 'phoneNumber' : 'topic',
      topicArn: topicArn ?? '',
      topicType: isFifo ? 'fifo' : 'standard',
      messageGroupId: isFifo ? NOTIFICATION : '',
      ...(topicArn === undefined && { phoneNumber }),
      ...(endpoint !== undefined && { endpoint }),
      ...(sigv4.access_key !== undefined && {
        awsAuthenticationMethod: 'manual',
        awsApiKey: entry.stored('awsApiKey', 'what sigv4.access_key has'),
        awsSecretKey: entry.stored('awsSecretKey', 'what sigv4.secret_key has'),
      }),
      ...(sigv4.role_arn !== undefined && { enableAssumeRole: true, assumeRoleArn: sigv4.role_arn }),
    };
  },
  opsgenie_configs(entry) {
    const token = entry.secret('api_key', 'token', 'opsgenie_api_key');
    const base = entry.text('api_url', 'opsgenie_api_url') ?? 'https://api.opsgenie.com/';
    const url = `${base.replace(/\/$/, '')}/v2/alerts`;
    return token === undefined
      ? 'it has no api_key'
      : { ...preset('opsgenie', url), authType: 'token', token };
  },
  victorops_configs(entry) {
    const base =
      entry.text('api_url', 'victorops_api_url') ??
      'https://alert.victorops.com/integrations/generic/20131114/alert/';
    entry.get('api_key', 'victorops_api_key');
    entry.get('api_key_file', 'victorops_api_key_file');
    entry.get('routing_key');
    return preset('splunk_on_call', entry.stored('url', `${base}API_KEY/ROUTING_KEY with your two keys`));
  },
  telegram_configs(entry) {
    const base = entry.text('api_url', 'telegram_api_url') ?? 'https://api.telegram.org';
    entry.get('bot_token', 'telegram_bot_token');
    entry.get('bot_token_file', 'telegram_bot_token_file');
    const [chat, thread] = [entry.text('chat_id'), entry.text('message_thread_id')];
    if (chat === undefined) return 'it has no chat_id';
    return {
      ...preset(
        'telegram',
        entry.stored('url', `${base}/botBOT_TOKEN/sendMessage with the token of your bot`),
      ),
      options: { chat_id: chat, ...(thread !== undefined && { message_thread_id: thread }) },
    };
  },
  discord_configs: byAddress('discord', 'webhook_url'),
  msteams_configs: byAddress('teams', 'webhook_url'),
  msteamsv2_configs: byAddress('teams', 'webhook_url'),
  mattermost_configs: byAddress('mattermost', 'webhook_url', 'mattermost_webhook_url'),
  webex_configs(entry) {
    const room = entry.text('room_id');
    const url = entry.text('api_url', 'webex_api_url') ?? 'https://webexapis.com/v1/messages';
    return room === undefined
      ? 'it has no room_id'
      : { ...preset('webex', url), ...httpOf(entry), options: { room_id: room } };
  },
  pushover_configs(entry) {
    const [token, user] = [entry.secret('token', 'token'), entry.secret('user_key', 'user')];
    if (token === undefined || user === undefined) return 'it has no token, or no user_key';
    return {
      ...preset('pushover', 'https://api.pushover.net/1/messages.json'),
      secretOptions: { token, user },
    };
  },
  jira_configs(entry) {
    const base = entry.text('api_url', 'jira_api_url');
    const [project, type] = [entry.text('project'), entry.text('issue_type')];
    if (base === undefined || project === undefined || !URL.canParse(base))
      return 'it has no api_url, or no project';
    return {
      ...preset('jira', new URL('/rest/api/3/issue', base).href),
      ...httpOf(entry),
      options: { project, ...(type !== undefined && { issue_type: type }) },
    };
  },
  incidentio_configs(entry) {
    const url = entry.text('url');
    const token = entry.secret('alert_source_token', 'token');
    return url === undefined || token === undefined
      ? 'it has no url, or no alert_source_token'
      : { ...preset('incident_io', url), authType: 'token', token };
  },
};

const preset = (name: string, url: string): Draft => ({ type: 'webhook', preset: name, url });

function byAddress(name: string, key: string, globalKey?: string): Receiver {
  return entry => {
    const url = entry.secret(key, 'url', globalKey);
    return url === undefined ? `it has no ${key}` : preset(name, url);
  };
}

/** Settings of a webhook for `http_config`. */
function httpOf(entry: Entry): Draft {
  const http = mapOf(entry.get('http_config', 'http_config'));
  const basic = mapOf(http.basic_auth);
  const authorization = mapOf(http.authorization);
  const hasToken = [
    http.bearer_token,
    http.bearer_token_file,
    authorization.credentials,
    authorization.credentials_file,
  ].some(one => one !== undefined);
  const scheme = textOf(authorization.type);
  if (http.oauth2 !== undefined) entry.changed('oauth2 has no equal; give it a token or a header');
  return {
    ...(basic.username !== undefined && {
      authType: 'basic',
      username: basic.username,
      password: entry.stored('password', 'the password of basic_auth'),
    }),
    ...(hasToken && {
      authType: 'token',
      token: entry.stored('token', 'the credentials of http_config'),
      ...(scheme !== undefined && scheme !== 'Bearer' && { authScheme: scheme }),
    }),
    ...(mapOf(http.tls_config).insecure_skip_verify === true && { rejectUnauthorized: false }),
    ...(http.proxy_url !== undefined && { proxyUrl: http.proxy_url }),
  };
}

/** What a receiver has become. */
interface ReceiverTargets {
  /** The target that leads to all of them; undefined where there is none. */
  readonly output: string | undefined;
  readonly targets: readonly string[];
}

/** The targets of each receiver by its name. */
function readReceivers(reading: Reading, value: unknown): Context['receivers'] {
  const { moved, place } = reading;
  const ids = new Map<string, ReceiverTargets>();
  let count = 0;
  for (const [index, receiver] of listOf(value).entries()) {
    const path = ['receivers', index];
    const name = isMap(receiver) ? textOf(receiver.name) : undefined;
    if (!isMap(receiver) || name === undefined) refuse(reading, path, 'must be a map with a name');
    if (ids.has(name))
      refuse(reading, path, `the name ${quote(name)} is already that of an earlier receiver`);
    const targets: string[] = [];
    for (const [kind, entries] of Object.entries(receiver).filter(([key]) => key !== 'name'))
      for (const [at, entry] of listOf(entries).entries()) {
        const convert = Object.hasOwn(RECEIVERS, kind) ? RECEIVERS[kind] : undefined;
        const here = [...path, kind, at];
        const id = freeId(moved, wordOf(name), kind.replace(/_configs$/, ''));
        if (convert === undefined || !isMap(entry)) {
          moved.leftOut(place(here), `${kind} of the receiver ${quote(name)}: Headgate has nothing like it`);
          continue;
        }
        const one = new Entry(reading, id, here, entry);
        const target = convert(one);
        if (typeof target === 'string' ? one.add(undefined, target) : one.add(target)) targets.push(id);
      }
    if (targets.length === 0) moved.changed(place(path), `the receiver ${quote(name)} notifies nobody`);
    ids.set(name, { output: outputOf(reading, name, targets, path), targets });
    count += targets.length;
    if (count > MOST_TARGETS)
      refuse(reading, path, `there are more than ${MOST_TARGETS} entries of receivers`);
  }
  return ids;
}

/** Several targets stand behind a router of their own, so that each route names one. */
function outputOf(
  { moved, place }: Reading,
  name: string,
  targets: readonly string[],
  path: Steps,
): string | undefined {
  if (targets.length < 2) return targets[0];
  const id = freeId(moved, `${wordOf(name)}_all`, 'router');
  const routes = targets.map(output => ({ filter: 'true', output, final: false }));
  moved.add('targets', { id, type: 'router', routes }, () => place(path));
  return id;
}

function freeId(moved: Moved, name: string, kind: string): string {
  const names = [name, `${name}_${kind}`];
  for (let count = 2; ; count++) {
    const free = names.find(one => !moved.has('targets', one));
    if (free !== undefined && free !== ROUTER) return free;
    names.push(`${name}_${kind}_${count}`);
  }
}

// Matchers

interface Matcher {
  readonly name: string;
  readonly op: string;
  readonly value: string;
}

const MATCHER =
  /\s*("(?:[^"\\]|\\.)*"|[^\s{}=!~,"]+)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*"|[^,"]*?)\s*(?:,|$)/y;

/** The matchers of a route, or of a side of an inhibition rule, whose keys begin with `prefix`. */
function matchersOf(reading: Reading, value: PlainMap, path: Steps, prefix = ''): Matcher[] {
  const pairs = (key: string, op: string): Matcher[] =>
    Object.entries(mapOf(value[key])).map(([name, text]) => ({
      name: fieldOf(reading, name),
      op,
      value: textOf(text) ?? '',
    }));
  const list = value[`${prefix}matchers`];
  const texts = typeof list === 'string' ? [list] : listOf(list);
  return [
    ...pairs(`${prefix}match`, '='),
    ...pairs(`${prefix}match_re`, '=~'),
    ...texts.flatMap((text, index) => parseMatchers(reading, text, [...path, `${prefix}matchers`, index])),
  ];
}

function parseMatchers(reading: Reading, text: unknown, path: Steps): Matcher[] {
  const wrong = (): never =>
    refuse(reading, path, `must be a matcher such as severity="critical", not ${shortOf(text)}`);
  if (typeof text !== 'string' || text.length > MOST_MATCHER_CHARACTERS) return wrong();
  const inner = text
    .trim()
    .replace(/^\{([\s\S]*)\}$/, '$1')
    .trim();
  const found: Matcher[] = [];
  const pattern = new RegExp(MATCHER);
  while (pattern.lastIndex < inner.length) {
    const [, name = '', op = '', value = ''] = pattern.exec(inner) ?? wrong();
    found.push({ name: fieldOf(reading, unquoted(name)), op, value: unquoted(value) });
  }
  return found;
}

const unquoted = (text: string): string =>
  text.startsWith('"')
    ? text.slice(1, -1).replace(/\\([\s\S])/g, (_, one) => (one === 'n' ? '\n' : one))
    : text;

/** The field of an event that has a label. Some names are Headgate's own. */
function fieldOf({ renamed }: Reading, label: string): string {
  const isFree =
    /^[A-Za-z_]\w{0,120}$/.test(label) && !label.startsWith('__') && !RESERVED_FIELDS.includes(label);
  if (isFree) return label;
  const field = `label_${label.replace(/\W/g, '_').slice(0, 100)}`;
  renamed.set(label, field);
  return field;
}

/** The matcher as an expression. A label that is missing has the value ''. */
function filterOf({ name, op, value }: Matcher): string {
  if (op === '=' || op === '!=') {
    const field = value === '' ? `(${name} ?? '')` : name;
    return `${field} ${op === '=' ? '==' : '!='} ${JSON.stringify(value)}`;
  }
  const test = `matches(String(${name} ?? ''), ${JSON.stringify(`^(?:${value})$`)})`;
  return op === '=~' ? test : `!${test}`;
}

// Routes

interface Context {
  readonly receivers: ReadonlyMap<string, ReceiverTargets>;
  readonly intervals: ReadonlyMap<string, readonly Draft[]>;
}

/** A route with what it has of those above it. */
interface Node {
  readonly value: PlainMap;
  readonly path: Steps;
  readonly receiver: string;
  /** All must hold: those of the routes above, and that no route before took the event. */
  readonly conditions: readonly string[];
  /** True while neither it nor a route above goes on to the next. */
  readonly isFinal: boolean;
}

/** Those of a router. */
const MOST_RULES = 1000;
const MOST_CHARACTERS = 4_000_000;
/** Of the routes side by side each is compared with all before it. */
const MOST_ROUTES = 2000;
const MOST_TARGETS = 5000;
const MOST_MATCHER_CHARACTERS = 10_000;

interface Rule {
  readonly filter: string;
  readonly output: string;
  readonly final: boolean;
  readonly activeWindows?: readonly Draft[];
}

function addRoutes(reading: Reading, root: PlainMap, context: Context): void {
  const { moved, place, targetConfigs } = reading;
  const receiver = textOf(root.receiver) ?? refuse(reading, ['route', 'receiver'], 'names no receiver');
  const rules: Rule[] = [];
  flatten(reading, { value: root, path: ['route'], receiver, conditions: [], isFinal: true }, context, rules);
  const here: SourcePlace = () => place(['route']);
  if (rules.length > 0) moved.add('targets', { id: ROUTER, type: 'router', routes: rules }, here);
  const grouping = groupingOf(reading, root);
  const repeatInterval = durationOf(root.repeat_interval) ?? '4h';
  const reached = new Set(
    [...context.receivers.values()]
      .filter(({ output }) => rules.some(rule => rule.output === output))
      .flatMap(({ targets }) => targets),
  );
  const used = targetConfigs.filter(({ id }) => reached.has(String(id)));
  moved.add(
    'notifications',
    {
      id: NOTIFICATION,
      condition: 'monitor-alerts',
      targets: rules.length > 0 ? [ROUTER] : [],
      ...(used.length > 0 && { targetConfigs: used }),
      ...grouping,
      repeatInterval,
    },
    here,
  );
  moved.changed(
    here(),
    `the routes are the target ${ROUTER} of the notification ${NOTIFICATION}; labels of alerts are fields of external events`,
  );
}

/** Adds the rules of a route and those below it; returns true when a rule stops whatever the route takes. */
function flatten(reading: Reading, node: Node, context: Context, rules: Rule[]): boolean {
  const { value, path, conditions, isFinal } = node;
  const before: string[] = [];
  const takenBelow: string[] = [];
  let stops = isFinal;
  if (listOf(value.routes).length > MOST_ROUTES)
    refuse(reading, [...path, 'routes'], `more than ${MOST_ROUTES} routes side by side are not converted`);
  for (const [index, child] of listOf(value.routes).entries()) {
    const here = [...path, 'routes', index];
    if (!isMap(child)) refuse(reading, here, `must be a map of settings, not ${shortOf(child)}`);
    reportOwn(reading, child, here);
    const own = matchersOf(reading, child, here).map(filterOf);
    const isStopped = flatten(
      reading,
      {
        value: child,
        path: here,
        receiver: textOf(child.receiver) ?? node.receiver,
        conditions: [...conditions, ...before.map(not), ...own],
        isFinal: isFinal && child.continue !== true,
      },
      context,
      rules,
    );
    if (isStopped) continue;
    stops = false;
    const taken = own.length === 0 ? 'true' : own.join(' && ');
    takenBelow.push(taken);
    if (child.continue !== true) before.push(taken);
  }
  return (
    addOwn(reading, { ...node, conditions: [...conditions, ...takenBelow.map(not)] }, context, rules) && stops
  );
}

const not = (filter: string): string => `!(${filter})`;

/** Adds what a route itself sends; returns true when that stops what it takes. */
function addOwn(reading: Reading, node: Node, { receivers, intervals }: Context, rules: Rule[]): boolean {
  const { value, path, receiver, conditions, isFinal } = node;
  const found = receivers.get(receiver);
  if (found === undefined) refuse(reading, [...path, 'receiver'], `there is no receiver ${quote(receiver)}`);
  const windows = windowsOf(reading, value, path, intervals);
  const { output } = found;
  if (output === undefined) return false;
  const filter = conditions.length === 0 ? 'true' : conditions.join(' && ');
  const final = isFinal && windows === undefined;
  rules.push({ filter, output, final, ...(windows !== undefined && { activeWindows: windows }) });
  const characters = rules.reduce((sum, rule) => sum + rule.filter.length, 0);
  if (rules.length > MOST_RULES || characters > MOST_CHARACTERS)
    refuse(reading, ['route'], `the routes come to more than a router takes: ${MOST_RULES} rules`);
  return final;
}

/** Settings that Headgate has for the whole notification only. */
const OF_THE_NOTIFICATION = ['group_by', 'group_wait', 'group_interval', 'repeat_interval'];

function reportOwn({ moved, place }: Reading, route: PlainMap, path: Steps): void {
  for (const key of OF_THE_NOTIFICATION)
    if (route[key] !== undefined)
      moved.leftOut(place([...path, key]), `${key} of a route: that of the first route counts for all`);
}

function groupingOf(reading: Reading, { group_by, group_wait, group_interval }: PlainMap): Draft {
  const labels = listOf(group_by).map(String);
  if (labels.includes('...')) return {};
  const [groupWait, groupInterval] = [durationOf(group_wait), durationOf(group_interval)];
  return {
    groupBy: labels.map(label => fieldOf(reading, label)),
    ...(groupWait !== undefined && { groupWait }),
    ...(groupInterval !== undefined && { groupInterval }),
  };
}

/** Prometheus also has weeks and years. */
function durationOf(value: unknown): string | undefined {
  const text = textOf(value);
  const [, years = '0', weeks = '0', days = '0', rest = ''] =
    /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(.*)$/.exec(text ?? '') ?? [];
  const all = Number(years) * 365 + Number(weeks) * 7 + Number(days);
  return text === undefined ? undefined : all === 0 ? text : `${all}d${rest}`;
}

// Time intervals

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];

function readIntervals(reading: Reading, content: PlainMap): ReadonlyMap<string, readonly Draft[]> {
  const found = new Map<string, readonly Draft[]>();
  for (const section of ['time_intervals', 'mute_time_intervals'])
    for (const [index, interval] of listOf(content[section]).entries()) {
      const { name, time_intervals: parts } = mapOf(interval);
      const windows = listOf(parts).map(part => windowOf(mapOf(part)));
      const isWhole = windows.every(window => window !== undefined);
      if (isWhole)
        found.set(
          String(name),
          windows.flatMap(window => (window === undefined ? [] : [window])),
        );
      else
        reading.moved.leftOut(
          reading.place([section, index]),
          `the time interval ${shortOf(name)}: windows here recur each year, and ranges of days begin and end alike`,
        );
    }
  return found;
}

/** Undefined where it cannot be said by a window. */
function windowOf({ times, weekdays, days_of_month, months, years, location }: PlainMap): Draft | undefined {
  const days = days_of_month === undefined ? undefined : numbersOf(days_of_month, []);
  const inYear = months === undefined ? undefined : numbersOf(months, MONTHS);
  if (years !== undefined || days?.includes(Number.NaN) || inYear?.includes(Number.NaN)) return undefined;
  const parts: Draft = {
    ...(times !== undefined && {
      times: listOf(times).map(span => `${String(mapOf(span).start_time)}-${String(mapOf(span).end_time)}`),
    }),
    ...(weekdays !== undefined && {
      weekdays: listOf(weekdays).map(day => String(day).toLowerCase().replace(':', '-')),
    }),
    ...(days !== undefined && { daysOfMonth: days }),
    ...(inYear !== undefined && { months: inYear }),
  };
  const whole = Object.keys(parts).length === 0 ? { times: ['00:00-24:00'] } : parts;
  return { ...whole, ...(location !== undefined && { timezone: location }) };
}

/** The numbers in ranges such as `1:5` and `january:march`; NaN for one that cannot be listed. */
function numbersOf(ranges: unknown, names: readonly string[]): number[] {
  const numberOf = (word: string): number =>
    names.includes(word.toLowerCase()) ? names.indexOf(word.toLowerCase()) + 1 : Number(word);
  const all = listOf(ranges).flatMap(range => {
    const [first = '', last = first] = String(range).split(':');
    const [from, until] = [numberOf(first), numberOf(last)];
    const isListable =
      Number.isInteger(from) &&
      Number.isInteger(until) &&
      from <= until &&
      from * until > 0 &&
      until - from < 31;
    return isListable ? Array.from({ length: until - from + 1 }, (_, index) => from + index) : [Number.NaN];
  });
  return [...new Set(all)];
}

/** When a route sends; undefined for at any time. */
function windowsOf(
  { moved, place }: Reading,
  { active_time_intervals: active, mute_time_intervals: mute }: PlainMap,
  path: Steps,
  intervals: Context['intervals'],
): readonly Draft[] | undefined {
  const named = (names: unknown): readonly Draft[] | undefined => {
    const all = listOf(names).map(name => intervals.get(String(name)));
    return all.every(one => one !== undefined) ? all.flatMap(one => one ?? []) : undefined;
  };
  const key = listOf(active).length > 0 ? 'active_time_intervals' : 'mute_time_intervals';
  if (listOf(active).length === 0 && listOf(mute).length === 0) return undefined;
  const windows = key === 'active_time_intervals' ? named(active) : complementOf(named(mute));
  const isCarried = windows !== undefined && windows.length > 0;
  if (!isCarried || (listOf(active).length > 0 && listOf(mute).length > 0))
    moved.leftOut(
      place([...path, isCarried ? 'mute_time_intervals' : key]),
      `${isCarried ? 'mute_time_intervals' : key} of a route: they cannot be said by windows; see muteWindows of a notification`,
    );
  if (!isCarried) return undefined;
  moved.changed(
    place([...path, key]),
    `${key} are activeWindows of a route: an alarm of another time is sent with its first reminder in them`,
  );
  return windows;
}

const minutesOf = (time: string): number => {
  const [hours, minutes] = time.split(':').map(Number);
  return (hours ?? Number.NaN) * 60 + (minutes ?? Number.NaN);
};
const timeOf = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
const DAY_MINUTES = 24 * 60;

/** The rest of the week; undefined where windows go by the month, or by different zones. */
function complementOf(windows: readonly Draft[] | undefined): readonly Draft[] | undefined {
  const zones = new Set(windows?.map(({ timezone }) => timezone));
  const isWeekly = windows?.every(one => one.daysOfMonth === undefined && one.months === undefined);
  if (windows === undefined || !isWeekly || zones.size !== 1) return undefined;
  const [timezone] = zones;
  const daysBySpans = new Map<string, string[]>();
  for (const [index, day] of DAYS.entries()) {
    const muted = windows
      .filter(
        ({ weekdays }) =>
          weekdays === undefined || listOf(weekdays).some(range => isWithin(index, String(range))),
      )
      .flatMap(({ times }) => (times === undefined ? ['00:00-24:00'] : listOf(times).map(String)));
    const spans = freeSpans(muted);
    if (spans === undefined) return undefined;
    if (spans.length === 0) continue;
    const key = spans.join();
    daysBySpans.set(key, [...(daysBySpans.get(key) ?? []), day]);
  }
  return [...daysBySpans].map(([spans, weekdays]) => ({
    times: spans.split(','),
    ...(weekdays.length < DAYS.length && { weekdays }),
    ...(timezone !== undefined && { timezone }),
  }));
}

function isWithin(day: number, range: string): boolean {
  const [first = '', last = first] = range.split('-');
  const [from, until] = [DAYS.indexOf(first), DAYS.indexOf(last)];
  return from <= until ? day >= from && day <= until : day >= from || day <= until;
}

/** What of a day is outside of the spans; undefined where one cannot be read. */
function freeSpans(spans: readonly string[]): string[] | undefined {
  const muted = spans.map(span => span.split('-').map(minutesOf)).sort(([a = 0], [b = 0]) => a - b);
  if (muted.flat().some(Number.isNaN)) return undefined;
  const free: string[] = [];
  let at = 0;
  for (const [from = 0, until = 0] of muted) {
    if (from > at) free.push(`${timeOf(at)}-${timeOf(from)}`);
    at = Math.max(at, until);
  }
  if (at < DAY_MINUTES) free.push(`${timeOf(at)}-24:00`);
  return free;
}

// Inhibition

function addInhibitions(reading: Reading, rules: unknown): void {
  for (const [index, rule] of listOf(rules).entries()) {
    const path = ['inhibit_rules', index];
    if (!isMap(rule)) refuse(reading, path, `must be a map of settings, not ${shortOf(rule)}`);
    const side = (prefix: string): Matcher[] => {
      const matchers = matchersOf(reading, rule, path, prefix);
      // A list without any fits all, which has to be said here.
      return matchers.length > 0 ? matchers : [{ name: 'cribl_notification', op: '=', value: NOTIFICATION }];
    };
    reading.moved.add(
      'inhibitions',
      {
        id: wordOf(textOf(rule.name) ?? `alertmanager_${index + 1}`),
        when: side('source_'),
        hold: side('target_'),
        equal: listOf(rule.equal).map(label => fieldOf(reading, String(label))),
      },
      () => reading.place(path),
    );
  }
}
