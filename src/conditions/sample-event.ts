import type { HeadgateEvent } from '../events/event.ts';
import type { Condition } from './index.ts';

const NO_DATA_FIELDS = { _metric: 'total.in_bytes', bytes: 0 };
const VOLUME_FIELDS = { _metric: 'total.in_bytes', bytes: 1_200_000_000, dataVolume: '1GB' };
const UNHEALTHY_FIELDS = { _metric: 'health.inputs', health: 2 };
const QUEUE_FIELDS = { _metric: 'pq.queue_size', usage: 95, usageThreshold: 90 };
const COUNT_FIELDS = { _metric: 'total.errors', count: 12, threshold: 0 };

const EXPIRY_FIELDS = { expirationDate: '2024-02-08T00:00:00Z', within: '14d' };

/** What single conditions add, with values as they are in an alarm. */
const CONDITION_FIELDS: Readonly<Record<string, object>> = {
  'no-data': NO_DATA_FIELDS,
  'no-data-dest': NO_DATA_FIELDS,
  'high-volume': VOLUME_FIELDS,
  'high-volume-dest': VOLUME_FIELDS,
  'low-volume': VOLUME_FIELDS,
  'low-volume-dest': VOLUME_FIELDS,
  'unhealthy-source': UNHEALTHY_FIELDS,
  'unhealthy-dest': UNHEALTHY_FIELDS,
  'persistent-queue-usage': QUEUE_FIELDS,
  'persistent-queue-usage-source': QUEUE_FIELDS,
  'source-errors': COUNT_FIELDS,
  'dropped-events': COUNT_FIELDS,
  'pipeline-unreachable': {
    unreachableSince: '2024-02-01T00:27:00Z',
    reason: 'http://127.0.0.1:9598: connect ECONNREFUSED 127.0.0.1:9598',
  },
  'certificate-expiration': EXPIRY_FIELDS,
  'credential-expiration': EXPIRY_FIELDS,
  expression: { _metric: 'expression', expression: 'errors > 10', values: { errors: 12 } },
  'backpressure-dest': { _metric: 'backpressure.outputs', backpressure_type: 1 },
};

/** What a subject is called. */
const SUBJECT_NAMES = { component: 'syslog:app', pipeline: 'edge', fact: 'server' } as const;

const ORIGIN_METADATA: Readonly<Record<string, object>> = {
  input: { origin_metadata: { type: 'input', id: 'app', subType: 'syslog' } },
  output: { origin_metadata: { type: 'output', id: 'app', subType: 'syslog' } },
  pipeline: { origin_metadata: { type: 'pipeline', id: 'edge', subType: 'vector' } },
};

/** An alarm such as the condition may raise, to try expressions on; undefined for what others post. */
export function sampleEvent(condition: Condition): HeadgateEvent | undefined {
  if (condition.source === 'posted' || condition.source === 'beat') return undefined;
  const { id } = condition;
  const kind = condition.kind === 'either' ? 'output' : condition.kind;
  const name = SUBJECT_NAMES[condition.source];
  return {
    id: '01890a5d-ac96-774b-bcce-b302099a8057',
    status: 'ALARM',
    condition: id,
    cribl_notification: 'sample',
    [kind]: name,
    ...ORIGIN_METADATA[kind],
    _time: 1_706_747_300,
    starttime: 1_706_747_240,
    endtime: 1_706_747_300,
    ...(condition.source !== 'fact' && { timeWindow: '60s' }),
    ...CONDITION_FIELDS[id],
    severity: 'warn',
    incidentId: '01890a5d-ac96-774b-bcce-b302099a8058',
    incidentUrl: 'https://headgate.example/#/incidents/01890a5d-ac96-774b-bcce-b302099a8058',
    description: 'A sample.',
    runbookUrl: 'https://wiki.example/sample',
    _raw: `A sample of ${id}: ${name}`,
    cribl_host: 'headgate',
    ...(condition.source !== 'fact' && { __worker_group: 'default', __pipeline: 'sample' }),
  };
}
