import { SYSTEM_FIELDS } from './system-fields.ts';

/** Fields an event of some condition may have; the rest of an event is what its metadata adds. */
export const EVENT_FIELDS: readonly string[] = [
  'id',
  'status',
  'condition',
  'cribl_notification',
  'input',
  'output',
  'origin_metadata',
  '_time',
  'starttime',
  'endtime',
  '_metric',
  'bytes',
  'dataVolume',
  'timeWindow',
  'health',
  'backpressure_type',
  'usage',
  'usageThreshold',
  'severity',
  'title',
  'text',
  'incidentId',
  'incidentUrl',
  'description',
  'runbookUrl',
  '_raw',
  '__worker_group',
  ...SYSTEM_FIELDS,
];

/** What subject and body of a mail may name besides; the family's templates do. */
export const MAIL_VARIABLES: readonly string[] = [
  'workspace',
  'organization',
  'timestamp',
  'timewindow',
  'queue_usage',
  'worker_group',
  'name',
];
