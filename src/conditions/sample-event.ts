import type { HeadgateEvent } from '../events/event.ts';
import type { Condition } from './index.ts';

const SILENT = { _metric: 'total.in_bytes', bytes: 0 };
const VOLUME = { _metric: 'total.in_bytes', bytes: 1_200_000_000, dataVolume: '1GB' };
const UNHEALTHY = { _metric: 'health.inputs', health: 2 };
const QUEUE = { _metric: 'pq.queue_size', usage: 95, usageThreshold: 90 };
const COUNTED = { _metric: 'total.errors', count: 12, threshold: 0 };

/** What single conditions add, with values as they are in an alarm. */
const ADDED: Readonly<Record<string, object>> = {
  'no-data': SILENT,
  'no-data-dest': SILENT,
  'high-volume': VOLUME,
  'high-volume-dest': VOLUME,
  'low-volume': VOLUME,
  'low-volume-dest': VOLUME,
  'unhealthy-source': UNHEALTHY,
  'unhealthy-dest': UNHEALTHY,
  'persistent-queue-usage': QUEUE,
  'persistent-queue-usage-source': QUEUE,
  'source-errors': COUNTED,
  'dropped-events': COUNTED,
  expression: { _metric: 'expression', expression: 'errors > 10', values: { errors: 12 } },
  'backpressure-dest': { _metric: 'backpressure.outputs', backpressure_type: 1 },
};

/** An alarm such as the condition may raise, to try expressions on; undefined for what others post. */
export function sampleEvent(condition: Condition): HeadgateEvent | undefined {
  if (condition.source !== 'component') return undefined;
  const { id } = condition;
  const kind = condition.kind === 'either' ? 'output' : condition.kind;
  return {
    id: '01890a5d-ac96-774b-bcce-b302099a8057',
    status: 'ALARM',
    condition: id,
    cribl_notification: 'sample',
    [kind]: 'syslog:app',
    origin_metadata: { type: kind, id: 'app', subType: 'syslog' },
    _time: 1_706_747_300,
    starttime: 1_706_747_240,
    endtime: 1_706_747_300,
    timeWindow: '60s',
    ...ADDED[id],
    severity: 'warn',
    incidentId: '01890a5d-ac96-774b-bcce-b302099a8058',
    incidentUrl: 'https://headgate.example/#/incidents/01890a5d-ac96-774b-bcce-b302099a8058',
    description: 'A sample.',
    runbookUrl: 'https://wiki.example/sample',
    _raw: `A sample of ${id}: syslog:app`,
    cribl_host: 'headgate',
    __worker_group: 'default',
    __pipeline: 'sample',
  };
}
