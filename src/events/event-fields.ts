import { SYSTEM_FIELDS } from './system-fields.ts';

/** Fields that say the same of every event, and those attached at send: nobody who adds fields may set them. */
export const OWN_FIELDS: readonly string[] = [
  'id',
  'status',
  'condition',
  'cribl_notification',
  'input',
  'output',
  'key',
  'target',
  'origin_metadata',
  '_time',
  'starttime',
  'endtime',
  'severity',
  'incidentId',
  'incidentUrl',
  'description',
  'runbookUrl',
  '_raw',
  ...SYSTEM_FIELDS,
];

/** Fields an event of some condition may have; the rest of an event is what its metadata or its sender adds. */
export const EVENT_FIELDS: readonly string[] = [
  ...OWN_FIELDS,
  '_metric',
  'bytes',
  'events',
  'dataVolume',
  'timeWindow',
  'health',
  'backpressure_type',
  'usage',
  'usageThreshold',
  'count',
  'threshold',
  'expression',
  'first',
  'values',
  'title',
  'text',
  'savedQueryId',
  'pipeline',
  'certificate',
  'credential',
  'unreachableSince',
  'reason',
  'expirationDate',
  'within',
  '__worker_group',
];

/** The same before names beginning `__` are left behind: as metadata, groups, the bulletin and mail see an event. */
export const WHOLE_EVENT_FIELDS: readonly string[] = [...EVENT_FIELDS, '__pipeline'];

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
