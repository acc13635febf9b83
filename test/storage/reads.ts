import type { Kysely } from 'kysely';
import { type AuditFilter, auditStore } from '../../src/storage/stores/audit.ts';
import { componentStore, componentTransaction } from '../../src/storage/stores/components.ts';
import { documentStore, versionStore } from '../../src/storage/stores/configuration.ts';
import { deliveryStore, requeue } from '../../src/storage/stores/deliveries.ts';
import { eventStore } from '../../src/storage/stores/events.ts';
import { groupStore } from '../../src/storage/stores/groups.ts';
import { hourStore } from '../../src/storage/stores/hours.ts';
import { incidentStore } from '../../src/storage/stores/incidents.ts';
import { messageStore } from '../../src/storage/stores/messages.ts';
import { minuteStore } from '../../src/storage/stores/minutes.ts';
import { removedTargetStore } from '../../src/storage/stores/removed-targets.ts';
import { type RetentionKind, retentionStore } from '../../src/storage/stores/retention.ts';
import { secretsStore } from '../../src/storage/stores/secrets.ts';
import type { Database } from '../../src/storage/tables.ts';

type Read = (reader: Kysely<Database>) => Promise<unknown>;

const page = { offset: 10, limit: 10 };
const incidents = (reader: Kysely<Database>) => incidentStore(reader, 'default');
const deliveries = (reader: Kysely<Database>) => deliveryStore(reader, 'default');
const versions = (reader: Kysely<Database>) => versionStore(reader, 'default');

/** Every read of the stores. */
export const READS: readonly (readonly [string, Read])[] = [
  ['open incidents', reader => incidents(reader).open()],
  ['one incident', reader => incidents(reader).get('i')],
  ['incidents', reader => incidents(reader).list({}, page)],
  ['incidents by state', reader => incidents(reader).list({ state: 'open' }, page)],
  ['incidents by notification', reader => incidents(reader).list({ notification: 'n' }, page)],
  ['incidents by both', reader => incidents(reader).list({ notification: 'n', state: 'closed' }, page)],
  ['events by their ids', reader => eventStore(reader, 'default').byIds(['a', 'b'])],
  ['events of an incident', reader => eventStore(reader, 'default').ofIncident('i', page)],
  ['one delivery', reader => deliveries(reader).get('d')],
  ['deliveries', reader => deliveries(reader).list({}, page)],
  ['deliveries by state', reader => deliveries(reader).list({ state: 'exhausted' }, page)],
  ['deliveries by target', reader => deliveries(reader).list({ target: 't' }, page)],
  ['deliveries by notification', reader => deliveries(reader).list({ notification: 'n' }, page)],
  [
    'deliveries by all three',
    reader => deliveries(reader).list({ state: 'sent', target: 't', notification: 'n' }, page),
  ],
  ['waiting deliveries', reader => deliveries(reader).waiting('t', 'd', 10)],
  ['what waits for each target', reader => deliveries(reader).waitingByTarget()],
  ['fallback deliveries of a target', reader => deliveries(reader).notified('i', 't')],
  ['deliveries in a range of time', reader => deliveries(reader).list({ since: 1, until: 2 ** 41 }, page)],
  ['whether a delivery is superseded', reader => deliveries(reader).isSuperseded('i', 't', 1)],
  ['members of groups', reader => groupStore(reader, 'default').members('d', 10)],
  ['groups within their interval', reader => groupStore(reader, 'default').withinInterval()],
  ['settings of removed targets', reader => removedTargetStore(reader, 'default').list()],
  ['attempts', reader => deliveries(reader).attempts('d')],
  ['messages', reader => messageStore(reader, 'default').list(page)],
  ['one message', reader => messageStore(reader, 'default').get('m')],
  ['secrets', reader => secretsStore(reader, 'default').list()],
  ['the document', reader => documentStore(reader, 'default').get()],
  ['versions', reader => versions(reader).list(page)],
  ['one version', reader => versions(reader).get('v')],
  ['the last version', reader => versions(reader).last()],
  ['the audit', reader => audit(reader, {})],
  ['the audit of an actor', reader => audit(reader, { actor: 'a', result: 'ok', since: 1 })],
  ['ids of components', reader => componentStore(reader, 'default').byIdentities(['a', 'b'])],
  ['components by their ids', reader => componentTransaction(reader, 'default').componentsByIds(['a', 'b'])],
  ['which ids of external events came before', reader => eventStore(reader, 'default').known(['a', 'b'])],
  ['how far the last received ids reach', reader => retentionStore(reader, 'default').receivedBefore(10)],
  ['minutes', reader => minuteStore(reader, 'default').byIds(['a', 'b'])],
  ['hours', reader => hourStore(reader, 'default').byIds(['a', 'b'])],
  ['the number of ids', reader => componentStore(reader, 'default').count()],
  ['the number of versions', reader => versions(reader).count()],
];

const audit = (reader: Kysely<Database>, filter: AuditFilter) =>
  auditStore(reader, 'default').list(filter, page);

const old = (reader: Kysely<Database>, kind: RetentionKind) =>
  retentionStore(reader, 'default').findExpired(kind, { before: 4_000_000_000_000, after: '', limit: 10 });

/** Reads that one index alone keeps from walking through a whole workspace, with its name. */
export const NARROW_READS: readonly (readonly [string, Read, string])[] = [
  ['events that nothing needs', reader => old(reader, 'events'), 'deliveries_by_event'],
  [
    'events of an incident',
    reader => eventStore(reader, 'default').ofIncident('i', page),
    'events_by_incident',
  ],
  ['received ids that are old', reader => old(reader, 'received'), 'received_events_'],
  ['incidents that nothing needs', reader => old(reader, 'incidents'), 'deliveries_by_incident_id'],
  ['open incidents by condition', reader => incidents(reader).openByCondition(), 'incidents_'],
  ['what waits for a target', reader => deliveries(reader).waiting('t', 'd', 10), 'deliveries_waiting'],
  [
    'the deliveries of an incident',
    reader => deliveries(reader).list({ incident: 'i' }, page),
    'deliveries_by_incident_id',
  ],
  [
    'whether a delivery of an incident is superseded',
    reader => deliveries(reader).isSuperseded('i', 't', 1),
    'incident_id',
  ],
  ['fallback deliveries of an incident', reader => deliveries(reader).notified('i', 't'), 'incident_id'],
  ['fallback targets', reader => deliveries(reader).fallbackTargets(), 'deliveries_fallback_for'],
  [
    'what was given up and is to be put back',
    reader => requeue(reader, 'default', { states: ['refused'] }, { now: 1, after: 'd', limit: 10 }),
    'deliveries_by_state',
  ],
  [
    'the deliveries in a state',
    reader => deliveries(reader).list({ state: 'exhausted' }, page),
    'deliveries_by_state',
  ],
  [
    'the first hour to keep',
    reader => minuteStore(reader, 'default').firstHourToKeep(4_000_000_000_000),
    'minutes_to_keep',
  ],
  ['incidents that were open', reader => incidents(reader).openBetween(1, 2), 'incidents_by_'],
  [
    'the incidents of a notification',
    reader => incidents(reader).list({ notification: 'n' }, page),
    'incidents_by_notification',
  ],
];
