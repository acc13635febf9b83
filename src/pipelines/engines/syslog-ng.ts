import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

const source = (name: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^syslogng_input_${name}_total$`),
  kind: 'input',
  id: 'id',
  type: 'driver',
  where: { result: /^(?:processed)?$/ },
  meaning,
});

const destination = (name: string, meaning: Meaning, where: ProfileRule['where'] = {}): ProfileRule => ({
  match: new RegExp(`^syslogng_output_${name}$`),
  kind: 'output',
  id: 'id',
  type: 'driver',
  where,
  meaning,
});

/** Files that no destination uses any more hold nothing that is about to be delivered. */
const diskQueue = (name: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^syslogng_disk_queue_${name}$`),
  kind: 'output',
  id: ['id', 'driver_id'],
  joins: true,
  where: { abandoned: /^(?:false)?$/ },
  meaning,
});

const FAILED_REQUEST = { response_code: /^[45]/ };

/**
 * syslog-ng and AxoSyslog 4.1 and later, by `STATS PROMETHEUS` of their control socket, which an exporter shows.
 * `queued` is a level within a family of totals. Before 4.4 a driver is named by `driver_instance` alone. A destination
 * says since 4.7 whether it can be reached.
 */
export const syslogNg = defineProfile({
  engine: 'syslog-ng',
  knownBy: /^syslogng_/,
  rules: [
    source('events', counter('in_events')),
    source('event_bytes', counter('in_bytes')),
    destination('events_total', counter('out_events'), { result: 'delivered' }),
    destination('events_total', counter('dropped'), { result: 'dropped' }),
    destination('events_total', gauge('queue_size', 'sum'), { result: 'queued' }),
    destination('event_bytes_total', counter('out_bytes')),
    destination('event_retries_total', counter('errors')),
    destination('http_requests_total', counter('errors', { isFallback: true }), FAILED_REQUEST),
    destination('http_requests_total', gauge('failing', 'max', { reads: 'grew' }), FAILED_REQUEST),
    destination('unreachable', gauge('up', 'product', { scale: -1, offset: 1 })),
    diskQueue('disk_usage_bytes', gauge('queue_bytes', 'sum')),
    diskQueue('capacity_bytes', gauge('queue_capacity_bytes', 'sum')),
  ],
});
