import { createHmac } from 'node:crypto';
import type { ContractAnswer, Received } from './contract-server.ts';

/**
 * Services as their documents say they answer: each takes what it documents, and refuses another body, a missing field,
 * and what is over its limits. `preset` names the page of the vendor.
 */
export interface ServiceStub {
  answer(received: Received): ContractAnswer;
  /** What it answers besides, and what a delivery must make of it. */
  readonly failures: readonly (readonly [ContractAnswer, 'refused' | 'retry'])[];
}

type Json = Readonly<Record<string, unknown>>;

const json = (
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): ContractAnswer => ({
  status,
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...headers },
});
const plain = (status: number, body = ''): ContractAnswer => ({ status, body });

const isJson = ({ headers }: Received): boolean =>
  /^application\/json(;|$)/.test(headers['content-type'] ?? '');

/** The body as an object; undefined where it is none, or a character in it is cut in two. */
function objectOf(received: Received): Json | undefined {
  if (!isJson(received)) return undefined;
  try {
    const value: unknown = JSON.parse(received.body);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

const child = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;

/** A text of one to so many UTF-16 units. */
const isText = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= most;
const isBytes = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.trim() !== '' && Buffer.byteLength(value) <= most;

/** PostgreSQL, where these are kept, has no place for it. */
const hasNul = (text: string): boolean => text.includes('\0');

const lengthOf = (value: unknown): number => Object.entries(Object(value)).flat().join('').length;

const only = (value: Json, ...names: readonly string[]): boolean =>
  Object.keys(value).every(name => names.includes(name));

const bearer = (received: Received, scheme: string, token: string): boolean =>
  received.headers.authorization === `${scheme} ${token}`;
const basic = (received: Received): boolean =>
  /^Basic [A-Za-z0-9+/=]{8,}$/.test(received.headers.authorization ?? '');

/** The secret of robots that want signatures: those whose address says `signed`. */
export const ROBOT_SECRET = 'SEC-of-the-robot';

const isRecent = (ms: number): boolean => Math.abs(Date.now() - ms) < 3_600_000;

const isSignedForDingTalk = (query: URLSearchParams): boolean => {
  const timestamp = query.get('timestamp') ?? '';
  const message = `${timestamp}\n${ROBOT_SECRET}`;
  const sign = createHmac('sha256', ROBOT_SECRET).update(message).digest('base64');
  return /^\d{13}$/.test(timestamp) && isRecent(Number(timestamp)) && query.get('sign') === sign;
};

const isSignedForFeishu = (body: Json | undefined): boolean => {
  const { timestamp, sign } = body ?? {};
  const expected = createHmac('sha256', `${String(timestamp)}\n${ROBOT_SECRET}`)
    .update('')
    .digest('base64');
  return (
    typeof timestamp === 'string' &&
    /^\d{10}$/.test(timestamp) &&
    isRecent(Number(timestamp) * 1000) &&
    sign === expected
  );
};

/** The keys of alerts that are open at a service. */
type OpenAlerts = Set<string>;

function alertsApi(token: string): ServiceStub {
  const open: OpenAlerts = new Set();
  return {
    answer(received) {
      const { method, path = '' } = received;
      if (!bearer(received, 'GenieKey', token)) return json(401, { message: 'Could not authenticate' });
      const body = objectOf(received);
      if (method !== 'POST' || body === undefined)
        return json(400, { message: 'Could not parse request body' });
      const closing = /\/v2\/alerts\/([^/?]+)\/close\?identifierType=alias$/.exec(path);
      if (closing !== null) {
        const isOpen = open.delete(decodeURIComponent(closing[1] ?? ''));
        const isValid =
          only(body, 'user', 'source', 'note') && (body.note === undefined || isText(body.note, 25_000));
        return isOpen && isValid
          ? json(202, { result: 'Request will be processed', took: 0.1 })
          : json(422, { message: 'close' });
      }
      const isValid =
        path.endsWith('/v2/alerts') &&
        isText(body.message, 130) &&
        isText(body.alias, 512) &&
        isText(body.description, 15_000) &&
        isText(body.entity, 512) &&
        ['P1', 'P2', 'P3', 'P4', 'P5'].includes(String(body.priority)) &&
        Array.isArray(body.tags) &&
        body.tags.every(tag => isText(tag, 50)) &&
        isText(body.source, 100) &&
        body.tags.length <= 20 &&
        Object.values(body.details ?? {}).every(value => typeof value === 'string') &&
        lengthOf(body.details) <= 8000 &&
        only(body, 'message', 'alias', 'description', 'entity', 'source', 'priority', 'tags', 'details');
      if (!isValid) return json(422, { message: 'Request body is not processable' });
      open.add(String(body.alias));
      return json(202, { result: 'Request will be processed', took: 0.3, requestId: '1' });
    },
    failures: [
      [json(422, { message: 'Message can not be empty.' }), 'refused'],
      [json(429, { message: 'You are making too many requests!' }), 'retry'],
    ],
  };
}

export const serviceStubs = (): Readonly<Record<string, ServiceStub>> => ({
  teams: {
    answer(received) {
      const [attachment] = [child(objectOf(received)?.attachments, '0')];
      const card = child(attachment, 'content');
      const blocks = child(card, 'body');
      const isValid =
        received.raw.length <= 28 * 1024 &&
        objectOf(received)?.type === 'message' &&
        child(attachment, 'contentType') === 'application/vnd.microsoft.card.adaptive' &&
        child(card, 'type') === 'AdaptiveCard' &&
        typeof child(card, 'version') === 'string' &&
        Array.isArray(blocks) &&
        blocks.every(block => child(block, 'type') === 'TextBlock' && isText(child(block, 'text'), 28_000));
      return isValid ? plain(202) : plain(400, '{"error":{"code":"TriggerInputSchemaMismatch"}}');
    },
    failures: [
      [
        plain(
          200,
          'Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 with ContextId x',
        ),
        'retry',
      ],
      [
        plain(
          200,
          'Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 413 with ContextId x',
        ),
        'refused',
      ],
      [plain(404, '{"error":{"code":"WorkflowNotFound"}}'), 'refused'],
    ],
  },
  dingtalk: {
    answer(received) {
      const body = objectOf(received);
      if (received.raw.length > 20_000) return json(200, { errcode: 460101, errmsg: 'message too long' });
      const query = new URL(received.path ?? '', 'http://service.example').searchParams;
      if (query.has('signed') && !isSignedForDingTalk(query))
        return json(200, { errcode: 310000, errmsg: 'sign not match' });
      return body?.msgtype === 'text' && isText(child(body.text, 'content'), 20_000)
        ? json(200, { errcode: 0, errmsg: 'ok' })
        : json(200, { errcode: 40035, errmsg: 'param error' });
    },
    failures: [
      [json(200, { errcode: 310000, errmsg: 'keywords not in content' }), 'refused'],
      [json(200, { errcode: 130101, errmsg: 'send too fast, exceed 20 times per minute' }), 'retry'],
      [json(200, { errcode: -1, errmsg: 'system busy' }), 'retry'],
      [plain(502), 'retry'],
    ],
  },
  wecom: {
    answer(received) {
      const body = objectOf(received);
      return body?.msgtype === 'text' && isBytes(child(body.text, 'content'), 2048)
        ? json(200, { errcode: 0, errmsg: 'ok' })
        : json(200, { errcode: 40058, errmsg: 'text.content exceed max length 2048' });
    },
    failures: [
      [json(200, { errcode: 93000, errmsg: 'invalid webhook url' }), 'refused'],
      [json(200, { errcode: 45009, errmsg: 'api freq out of limit' }), 'retry'],
    ],
  },
  feishu: {
    answer(received) {
      const body = objectOf(received);
      const text = child(body?.content, 'text');
      if (received.path?.includes('signed') && !isSignedForFeishu(body))
        return json(200, { code: 19021, msg: 'sign match fail or timestamp is not within one hour' });
      return received.raw.length <= 20 * 1024 &&
        body?.msg_type === 'text' &&
        isText(text, 20_000) &&
        !text.includes('<at')
        ? json(200, { code: 0, data: {}, msg: 'success', StatusCode: 0, StatusMessage: 'success' })
        : json(200, { code: 9499, msg: 'Bad Request', data: {} });
    },
    failures: [
      [
        json(200, {
          code: 19021,
          msg: 'sign match fail or timestamp is not within one hour from current time',
        }),
        'refused',
      ],
      [json(200, { code: 11232, msg: 'frequency limited' }), 'retry'],
    ],
  },
  discord: {
    answer(received) {
      const body = objectOf(received);
      const parse = child(body?.allowed_mentions, 'parse');
      return isText(body?.content, 2000) && Array.isArray(parse) && parse.length === 0
        ? plain(204)
        : json(400, { code: 50035, message: 'Invalid Form Body' });
    },
    failures: [
      [json(404, { code: 10015, message: 'Unknown Webhook' }), 'refused'],
      [
        json(429, { message: 'You are being rate limited.', retry_after: 2 }, { 'retry-after': '2' }),
        'retry',
      ],
    ],
  },
  telegram: {
    answer(received) {
      const body = objectOf(received);
      if (!/^\/bot\d+:[\w-]+\/sendMessage$/.test(received.path ?? ''))
        return json(404, { ok: false, error_code: 404 });
      return typeof body?.chat_id === 'string' && isText(body.text, 4096)
        ? json(200, { ok: true, result: { message_id: 1 } })
        : json(400, { ok: false, error_code: 400, description: 'Bad Request: message is too long' });
    },
    failures: [
      [json(400, { ok: false, error_code: 400, description: 'Bad Request: chat not found' }), 'refused'],
      [json(429, { ok: false, error_code: 429, parameters: { retry_after: 3 } }), 'retry'],
      [json(200, { ok: false }), 'refused'],
    ],
  },
  google_chat: {
    answer(received) {
      const text = objectOf(received)?.text;
      return received.raw.length <= 32_000 && isBytes(text, 32_000) && !text.includes('<users/')
        ? json(200, { name: 'spaces/A/messages/B', text })
        : json(400, { error: { code: 400, status: 'INVALID_ARGUMENT' } });
    },
    failures: [
      [json(404, { error: { code: 404 } }), 'refused'],
      [json(429, { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }), 'retry'],
      [plain(200, '<html>sign in</html>'), 'refused'],
    ],
  },
  splunk_hec: {
    answer(received) {
      if (!bearer(received, 'Splunk', 'key-of-the-service'))
        return json(403, { text: 'Invalid token', code: 4 });
      if (!received.path?.endsWith('/services/collector/event')) return plain(404);
      if (received.raw.length > 1024 * 1024) return json(413, { text: 'Content-Length too large', code: 27 });
      for (const line of received.body.split('\n')) {
        const one = objectOf({ ...received, body: line });
        const isValid =
          typeof child(one, 'time') === 'number' && child(child(one, 'event'), 'id') !== undefined;
        if (!isValid || child(child(one, 'event'), '__options') !== undefined)
          return json(400, { text: 'Invalid data format', code: 6 });
      }
      return json(200, { text: 'Success', code: 0 });
    },
    failures: [
      [json(400, { text: 'Incorrect index', code: 7, 'invalid-event-number': 1 }), 'refused'],
      [json(503, { text: 'Server is busy', code: 9 }), 'retry'],
    ],
  },
  servicenow: {
    answer(received) {
      if (!basic(received))
        return json(401, { error: { message: 'User Not Authenticated' }, status: 'failure' });
      const records = objectOf(received)?.records;
      const isValid =
        Array.isArray(records) &&
        records.every(
          one =>
            isText(child(one, 'source'), 100) &&
            isText(child(one, 'node'), 100) &&
            isText(child(one, 'type'), 100) &&
            isText(child(one, 'message_key'), 1024) &&
            isText(child(one, 'event_class'), 100) &&
            isText(child(one, 'resource'), 100) &&
            isText(child(one, 'description'), 4000) &&
            isText(child(one, 'additional_info'), 4000) &&
            /^[0-5]$/.test(String(child(one, 'severity'))) &&
            /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(String(child(one, 'time_of_event'))) &&
            typeof JSON.parse(String(child(one, 'additional_info'))) === 'object',
        );
      return isValid
        ? json(200, { result: { 'Default Bulk Endpoint': `${records.length} events were inserted` } })
        : json(400, { error: { message: 'Invalid record' } });
    },
    failures: [[json(200, { error: { message: 'Insert failed' } }), 'refused']],
  },
  opsgenie: alertsApi('key-of-the-service'),
  jsm: alertsApi('key-of-the-service'),
  statuspage: {
    answer(received) {
      const { method, path = '' } = received;
      if (!bearer(received, 'OAuth', 'key-of-the-service'))
        return json(401, { error: 'Could not authenticate' });
      const status = child(objectOf(received)?.component, 'status');
      const isKnown = [
        'operational',
        'under_maintenance',
        'degraded_performance',
        'partial_outage',
        'major_outage',
      ];
      return method === 'PATCH' &&
        /^\/v1\/pages\/\w+\/components\/\w+$/.test(path) &&
        isKnown.includes(String(status))
        ? json(200, { id: 'COMPONENT', status })
        : json(422, { error: ['Status is invalid'] });
    },
    failures: [
      [json(420, { error: 'Too many requests' }), 'retry'],
      [json(404, { error: 'Not found' }), 'refused'],
    ],
  },
  jira: {
    answer(received) {
      if (!basic(received)) return json(401, { errorMessages: ['Client must be authenticated'] });
      const fields = objectOf(received)?.fields;
      const summary = child(fields, 'summary');
      const isValid =
        received.path === '/rest/api/3/issue' &&
        isText(child(child(fields, 'project'), 'key'), 10) &&
        isText(child(child(fields, 'issuetype'), 'name'), 60) &&
        isText(summary, 255) &&
        !/[\r\n]/.test(summary) &&
        child(child(fields, 'description'), 'type') === 'doc' &&
        child(child(fields, 'description'), 'version') === 1;
      return isValid
        ? json(201, { id: '1', key: 'OPS-1' })
        : json(400, { errorMessages: [], errors: { summary: 'Summary must be less than 255 characters.' } });
    },
    failures: [
      [json(400, { errorMessages: [], errors: { project: 'valid project is required' } }), 'refused'],
      [plain(200, '<html>log in</html>'), 'refused'],
      [json(429, {}, { 'retry-after': '5' }), 'retry'],
    ],
  },
  mattermost: {
    answer(received) {
      const text = objectOf(received)?.text;
      return isText(text, 16_383) && !hasNul(text) && !/@(all|channel|here)/.test(text)
        ? plain(200, 'ok')
        : json(400, { id: 'api.incoming_webhook.invalid.app_error', status_code: 400 });
    },
    failures: [
      [json(404, { message: 'Invalid webhook.' }), 'refused'],
      [plain(200, '<html>Mattermost</html>'), 'refused'],
      [plain(503), 'retry'],
    ],
  },
  ntfy: {
    answer(received) {
      const body = objectOf(received);
      const isValid =
        received.path === '/' &&
        received.raw.length <= 8192 &&
        /^[-_A-Za-z0-9]{1,64}$/.test(String(body?.topic)) &&
        // An empty one it replaces by a word of its own.
        Buffer.byteLength(String(body?.message)) <= 4096 &&
        isText(body?.title, 250) &&
        [1, 2, 3, 4, 5].includes(Number(body?.priority));
      return isValid
        ? json(200, { id: 'sPs71M8A2T', event: 'message' })
        : json(400, { code: 40024, http: 400 });
    },
    failures: [
      [json(403, { code: 40301, http: 403, error: 'forbidden' }), 'refused'],
      [json(429, { code: 42901, http: 429 }), 'retry'],
    ],
  },
  gotify: {
    answer(received) {
      const body = objectOf(received);
      if (received.headers['x-gotify-key'] !== 'key-of-the-service') return json(401, { errorCode: 401 });
      return received.path === '/message' &&
        isText(body?.message, 100_000) &&
        Number.isInteger(body?.priority)
        ? json(200, { id: 25, appid: 1 })
        : json(400, { error: 'Bad Request', errorCode: 400 });
    },
    failures: [
      [json(400, { errorCode: 400 }), 'refused'],
      [plain(200, 'welcome'), 'refused'],
    ],
  },
  pushover: {
    answer(received) {
      const body = objectOf(received);
      if (body?.token !== 'key-of-the-service' || body.user !== 'key-of-the-person')
        return json(400, { token: 'invalid', errors: ['application token is invalid'], status: 0 });
      const isValid =
        received.path === '/1/messages.json' &&
        isText(body.title, 250) &&
        isText(body.message, 1024) &&
        [-2, -1, 0, 1].includes(Number(body.priority)) &&
        (body.url === undefined || isText(body.url, 512));
      return isValid
        ? json(200, { status: 1, request: 'r' })
        : json(400, { status: 0, errors: ['message is too long'] });
    },
    failures: [
      [json(200, { status: 0, errors: ['user identifier is invalid'] }), 'refused'],
      [json(429, { status: 0, errors: ['application message limit reached'] }), 'retry'],
    ],
  },
  webex: {
    answer(received) {
      const body = objectOf(received);
      if (!bearer(received, 'Bearer', 'key-of-the-service')) return json(401, { message: 'no access token' });
      return received.path === '/v1/messages' && isText(body?.roomId, 200) && isBytes(body?.text, 7439)
        ? json(200, { id: 'Y2lz', roomId: body.roomId })
        : json(400, { message: 'Message length limited to 7439 bytes' });
    },
    failures: [
      [json(404, { message: 'Could not find a room with provided ID.' }), 'refused'],
      [json(429, {}, { 'retry-after': '30' }), 'retry'],
    ],
  },
  rocketchat: {
    answer(received) {
      const text = objectOf(received)?.text;
      return isText(text, 5000) && !/@(all|here)/.test(text)
        ? json(200, { success: true })
        : json(400, { success: false, error: 'error-message-size-exceeded' });
    },
    failures: [
      [json(200, { success: false, error: 'invalid-channel' }), 'refused'],
      [json(429, { success: false }), 'retry'],
    ],
  },
  zulip: {
    answer(received) {
      if (!basic(received)) return json(401, { result: 'error', code: 'UNAUTHORIZED' });
      const form = new URLSearchParams(received.body);
      const isValid =
        received.headers['content-type'] === 'application/x-www-form-urlencoded' &&
        received.path === '/api/v1/messages' &&
        form.get('type') === 'stream' &&
        isText(form.get('to'), 60) &&
        isText(form.get('topic'), 60) &&
        isText(form.get('content'), 10_000) &&
        !hasNul(received.body.replaceAll('%00', '\0')) &&
        !/@\*\*/.test(form.get('content') ?? '');
      return isValid
        ? json(200, { result: 'success', msg: '', id: 42 })
        : json(400, { result: 'error', code: 'BAD_REQUEST', msg: 'Message too long' });
    },
    failures: [
      [json(400, { result: 'error', code: 'STREAM_DOES_NOT_EXIST' }), 'refused'],
      [
        json(429, { result: 'error', code: 'RATE_LIMIT_HIT', 'retry-after': 2 }, { 'retry-after': '2' }),
        'retry',
      ],
    ],
  },
  splunk_on_call: {
    answer(received) {
      const body = objectOf(received);
      const isValid =
        ['CRITICAL', 'WARNING', 'ACKNOWLEDGEMENT', 'INFO', 'RECOVERY'].includes(String(body?.message_type)) &&
        isText(body?.entity_id, 512) &&
        isText(body?.entity_display_name, 250) &&
        isText(body?.state_message, 20_480);
      return isValid
        ? json(200, { result: 'success', entity_id: body?.entity_id })
        : json(200, { result: 'failure', message: 'invalid payload' });
    },
    failures: [
      [json(200, { result: 'failure', message: 'unknown key' }), 'refused'],
      [plain(503), 'retry'],
    ],
  },
  incident_io: {
    answer(received) {
      const body = objectOf(received);
      if (!bearer(received, 'Bearer', 'key-of-the-service'))
        return json(401, { type: 'authentication_error' });
      const isValid =
        /^\/v2\/alert_events\/http\/\w+$/.test(received.path ?? '') &&
        isText(body?.title, 255) &&
        ['firing', 'resolved'].includes(String(body?.status)) &&
        isText(body?.deduplication_key, 512) &&
        typeof body?.metadata === 'object';
      return isValid
        ? json(202, {
            deduplication_key: body?.deduplication_key,
            message: 'Event accepted',
            status: 'success',
          })
        : json(422, { type: 'validation_error', status: 422 });
    },
    failures: [
      [json(404, { type: 'not_found' }), 'refused'],
      [json(429, { type: 'too_many_requests' }, { 'retry-after': '1' }), 'retry'],
    ],
  },
  alertmanager: {
    answer(received) {
      const alerts: unknown = isJson(received) ? JSON.parse(received.body) : undefined;
      const isValid =
        received.path === '/api/v2/alerts' &&
        Array.isArray(alerts) &&
        alerts.every(alert => {
          const labels: object = Object(child(alert, 'labels'));
          const [startsAt, endsAt] = ['startsAt', 'endsAt'].map(key => Date.parse(String(child(alert, key))));
          return (
            Object.keys(labels).length > 0 &&
            Object.entries(labels).every(
              ([name, value]) => /^[A-Za-z_]\w*$/.test(name) && typeof value === 'string',
            ) &&
            Object.values(Object(child(alert, 'annotations'))).every(value => typeof value === 'string') &&
            startsAt !== undefined &&
            endsAt !== undefined &&
            startsAt <= endsAt
          );
        });
      return isValid ? plain(200) : plain(400, '"start time must be before end time"');
    },
    failures: [
      [json(400, { message: 'invalid label set' }), 'refused'],
      [plain(500), 'retry'],
    ],
  },
});
