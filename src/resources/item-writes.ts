import * as z from 'zod';
import { grantsOf } from '../auth/actor.ts';
import type { ConfigEdit, ConfigSection } from '../config/change.ts';
import type { Configuration } from '../config/configuration.ts';
import { isMap, type PlainMap } from '../config/plain.ts';
import { firstProblems, formatPath } from '../config/problems.ts';
import { problemsOf } from '../config/schema-problems.ts';
import { mapsFor, type Schema } from '../config/schema-walk.ts';
import { isReferredTo } from '../config/secrets/references.ts';
import { applySecretRules, type CheckedWrite, type SecretWrite } from '../config/secrets/rules.ts';
import { AppError, alreadyExists, notFound, type Problem } from '../lib/errors.ts';
import { identifier } from '../lib/schemas.ts';
import type { Call } from './context.ts';
import { assertMatches } from './etag.ts';
import { ALWAYS_IGNORED, mergePatch, toFileForm } from './patch.ts';

/** An item of the configuration before a write. */
export interface PresentItem {
  /** As its file has it; undefined when no file does. */
  readonly inFile: PlainMap | undefined;
  /** What reads answer: every default said but within what is kept as it was written, secrets masked. */
  readonly effective: PlainMap;
}

/** A resource whose items files hold and the API writes. */
export interface ResourceDefinition {
  readonly name: 'notification' | 'inhibition' | 'target' | 'input' | 'output';
  readonly section: Exclude<ConfigSection, 'settings'>;
  /** Keys that stay what they are, once the item exists. */
  readonly fixed: readonly string[];
  /** True when its items are in groups. */
  readonly grouped: boolean;
  /** The first step of names of its items' stored secrets; omitted where items hold no secrets. */
  readonly secretOwner?: string;
  /** Keys whose content is kept as it was sent, defaults included. */
  readonly asWritten?: readonly string[];
  find(now: Configuration, id: string): PresentItem | undefined;
  /** The schema of an item with such content; undefined when it cannot be known. */
  schema(item: PlainMap): Schema | undefined;
}

/** The body of a write of one item; the item's type decides its content. */
export const itemBody = z.custom<PlainMap>(isMap, 'must be a JSON object');

const itemId = z.string().max(512);
const ifMatchHeader = z.string().optional();

/** Input of the verbs that change and remove one item. */
export const itemUpdate = z.object({ id: itemId, body: itemBody, ifMatch: ifMatchHeader });
export const itemRemoval = z.object({ id: itemId, ifMatch: ifMatchHeader });

/** The body without what only reads answer. */
export const writable = (body: PlainMap): PlainMap =>
  Object.fromEntries(
    Object.entries(body).filter(([key]) => key !== 'headgate' && !ALWAYS_IGNORED.includes(key)),
  );

/** True when a body says all that an item needs, so that it replaces the whole of it. */
function isWhole(body: PlainMap, schema: Schema | undefined): boolean {
  const [map] = schema === undefined ? [] : mapsFor(schema, body);
  if (map === undefined) return true;
  return Object.entries(map.shape)
    .filter(([, field]) => !z.safeParse(field, undefined).success)
    .every(([key]) => body[key] !== undefined && body[key] !== null);
}

/** Throws `invalid-request`, naming the key. */
function refuse(path: string, message: string): never {
  throw new AppError('invalid-request', `${path}: ${message}`, { problems: [{ path, message }] });
}

interface Creation {
  /** As the query has it, where clients send it there as well. */
  readonly id?: string | undefined;
  readonly body: PlainMap;
}

/** Adds an item. Throws `conflict` when a file has one of its id. Answers the configuration it is in, and its id. */
export async function createItem(
  call: Call,
  resource: ResourceDefinition,
  { id: requested, body }: Creation,
) {
  const item = inGroup(call, resource, withId(writable(body), requested));
  const id = identifierOf(resource, item);
  const configuration = await save(call, now => {
    const present = resource.find(now, id);
    if (present?.inFile !== undefined)
      throw alreadyExists(`${resource.name} '${id}'`, 'choose another id or PATCH it');
    return [editTo(call, resource, { now, id, item, sent: item, present: undefined })];
  });
  return { configuration, id };
}

interface Write {
  readonly id: string;
  readonly ifMatch?: string | undefined;
}

interface Update extends Write {
  readonly body: PlainMap;
}

/**
 * Changes an item: a body with all that it needs replaces it, another is merged into it. Throws `not-found`,
 * `precondition-failed`, and `invalid-request` when it would get another id or type.
 */
export async function updateItem(call: Call, resource: ResourceDefinition, { id, body, ifMatch }: Update) {
  const sent = writable(body);
  return save(call, now => {
    const present = presentItem(call, resource, now, id);
    assertMatches(ifMatch, present.effective);
    return [updateOf(call, resource, { now, id, sent, present })];
  });
}

interface Updated {
  readonly now: Configuration;
  readonly id: string;
  readonly sent: PlainMap;
  readonly present: PresentItem;
}

function updateOf(call: Call, resource: ResourceDefinition, updated: Updated): ConfigEdit {
  const { sent, present } = updated;
  for (const key of resource.fixed)
    if (sent[key] !== undefined && sent[key] !== present.effective[key])
      refuse(
        key,
        `must stay '${String(present.effective[key])}'; remove the ${resource.name} and make another`,
      );
  const base = isWhole(sent, resource.schema({ ...present.effective, ...sent })) ? {} : present.effective;
  return editTo(call, resource, { ...updated, item: inGroup(call, resource, mergePatch(base, sent)) });
}

/**
 * The configuration that an update, or the creation of an item nobody has yet, would come to; nothing keeps it. Refuses
 * what `updateItem` and `createItem` refuse.
 */
export function dryRunItem(
  call: Call,
  resource: ResourceDefinition,
  { id, body }: Update,
): Promise<Configuration> {
  const sent = withId(writable(body), id);
  return call.context.dryRun(now => {
    const present = resource.find(now, id);
    return [
      present === undefined
        ? editTo(call, resource, { now, id, item: sent, sent, present })
        : updateOf(call, resource, { now, id, sent, present }),
    ];
  });
}

/** Takes an item out. `check` throws when it must stay. Answers the last configuration that had it. */
export async function removeItem(
  call: Call,
  resource: ResourceDefinition,
  { id, ifMatch }: Write,
  check: (now: Configuration) => void = () => {},
): Promise<Configuration> {
  let before = call.context.configuration();
  await save(call, now => {
    const present = presentItem(call, resource, now, id);
    assertMatches(ifMatch, present.effective);
    check(now);
    before = now;
    return [{ section: resource.section, id, value: undefined }];
  });
  return before;
}

const save = ({ actor, context }: Call, edits: (now: Configuration) => readonly ConfigEdit[]) =>
  context.save({ author: actor.name, source: 'api', edits });

function presentItem(
  { group }: Call,
  resource: ResourceDefinition,
  now: Configuration,
  id: string,
): PresentItem {
  const present = resource.find(now, id);
  const isElsewhere = resource.grouped && group !== undefined && present?.effective.group !== group;
  if (present === undefined || isElsewhere) throw notFound(resource.name, id);
  return present;
}

interface NewContent extends Pick<SecretWrite, 'item' | 'sent'> {
  readonly now: Configuration;
  readonly id: string;
  /** Undefined for a new item. */
  readonly present: PresentItem | undefined;
}

function editTo(
  call: Call,
  resource: ResourceDefinition,
  { now, id, item, sent, present }: NewContent,
): ConfigEdit {
  const { section } = resource;
  const schema = resource.schema(item);
  if (schema === undefined) return { section, id, value: item };
  const { secretOwner } = resource;
  const { value, secrets } =
    secretOwner === undefined
      ? { value: item, secrets: [] }
      : withStoredSecrets(call, { now, schema, owner: [secretOwner, id], item, sent, present });
  const before = { inFile: present?.inFile, effective: present?.effective };
  const written = (resource.asWritten ?? []).flatMap((key): [string, unknown][] =>
    isEmpty(value[key]) ? [] : [[key, value[key]]],
  );
  const lean = toFileForm(schema, value, before);
  return { section, id, value: { ...lean, ...Object.fromEntries(written) }, secrets };
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

function withId(body: PlainMap, requested: string | undefined): PlainMap {
  if (requested === undefined || body.id === requested) return body;
  if (body.id !== undefined) refuse('id', `must be '${requested}', as the query says`);
  return { id: requested, ...body };
}

function identifierOf(resource: ResourceDefinition, item: PlainMap): string {
  const read = identifier.safeParse(item.id);
  if (read.success) return read.data;
  const message = item.id === undefined ? 'is required' : 'must be 1 to 512 letters, digits, "_" or "-"';
  throw wrongItem(resource, item, message);
}

/** A path that names a group sets it. */
function inGroup({ group }: Call, resource: ResourceDefinition, item: PlainMap): PlainMap {
  if (!resource.grouped || group === undefined) return item;
  if (item.group !== undefined && item.group !== group)
    refuse('group', `must be '${group}', as the path says`);
  return { ...item, group };
}

interface SecretsOfItem extends Pick<SecretWrite, 'schema' | 'owner' | 'item' | 'sent'> {
  readonly now: Configuration;
  /** Undefined for a new item. */
  readonly present: PresentItem | undefined;
}

/** The item as its file may hold it, and the secrets to store before; throws as `applySecretRules` does. */
export const withStoredSecrets = ({ actor }: Call, { now, present, ...write }: SecretsOfItem): CheckedWrite =>
  applySecretRules({
    ...write,
    inFile: present?.inFile,
    effective: present?.effective,
    mayRefer: grantsOf(actor).has('update:settings'),
    isUsedElsewhere: name => isReferredTo(now.raw, name, present?.inFile),
  });

/** A body stands in no file. */
const origin = {
  place: (path: readonly PropertyKey[]) => ({ file: '', path: formatPath(path), line: 0, column: 0 }),
  keyPlace: (path: readonly PropertyKey[]) => ({ file: '', path: formatPath(path), line: 0, column: 0 }),
  reference: () => undefined,
};

/** The error of an item without a valid id: it names that, and everything else that is wrong with the item. */
function wrongItem(resource: ResourceDefinition, item: PlainMap, idMessage: string): AppError {
  const problems = [{ path: 'id', message: idMessage }, ...others(resource, item)];
  return new AppError('invalid-request', `id: ${idMessage}`, { problems });
}

function others(resource: ResourceDefinition, item: PlainMap): Problem[] {
  const schema = resource.schema(item);
  // Without a type nothing is known of the rest.
  if (schema === undefined) return [{ path: 'type', message: 'is required, and must be one there is' }];
  const { error } = z.safeParse(schema, item);
  if (error === undefined) return [];
  const found = [...problemsOf(error, { schema, value: item, origin })].filter(
    ({ place }) => place().path !== 'id',
  );
  return firstProblems('problems', found, []).map(({ path, message }) => ({ path, message }));
}
