import type { Edit } from '../../config/change.ts';
import type { Configuration } from '../../config/load.ts';
import type { PlainMap } from '../../config/plain.ts';
import { AppError, notFound } from '../../lib/errors.ts';
import { identifier } from '../../lib/schemas.ts';
import { assertMatches } from '../etag.ts';
import type { Call } from '../verb.ts';
import { asInFile } from './as-in-file.ts';
import { isWhole, refuse, writable } from './item-body.ts';
import { mergePatch } from './merge.ts';
import type { Noun, Present } from './noun.ts';
import { withStoredSecrets } from './stored-secrets.ts';
import { wrongItem } from './wrong-item.ts';

interface Creation {
  /** As the query has it, where clients send it there as well. */
  readonly id?: string | undefined;
  readonly body: PlainMap;
}

/** Adds an item. Throws `conflict` when a file has one of its id. Answers the configuration it is in, and its id. */
export async function createItem(call: Call, noun: Noun, { id: asked, body }: Creation) {
  const item = inGroup(call, noun, withId(writable(body), asked));
  const id = identifierOf(noun, item);
  const configuration = await save(call, now => {
    const present = noun.find(now, id);
    if (present?.inFile !== undefined)
      throw new AppError('conflict', `${noun.name} '${id}' exists already; choose another id or PATCH it`);
    return [editTo(call, noun, id, item, undefined)];
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
export async function updateItem(call: Call, noun: Noun, { id, body, ifMatch }: Update) {
  const sent = writable(body);
  return save(call, now => {
    const present = presentItem(call, noun, now, id);
    assertMatches(ifMatch, present.inForce);
    return [updateOf(call, noun, { id, sent, present })];
  });
}

interface Updated {
  readonly id: string;
  readonly sent: PlainMap;
  readonly present: Present;
}

function updateOf(call: Call, noun: Noun, { id, sent, present }: Updated): Edit {
  for (const key of noun.fixed)
    if (sent[key] !== undefined && sent[key] !== present.inForce[key])
      refuse(key, `must stay '${String(present.inForce[key])}'; remove the ${noun.name} and make another`);
  const base = isWhole(sent, noun.schema({ ...present.inForce, ...sent })) ? {} : present.inForce;
  return editTo(call, noun, id, inGroup(call, noun, mergePatch(base, sent)), present);
}

/**
 * The configuration that an update, or the creation of an item nobody has yet, would come to; nothing keeps it. Refuses
 * what `updateItem` and `createItem` refuse.
 */
export function triedItem(call: Call, noun: Noun, { id, body }: Update): Promise<Configuration> {
  const sent = withId(writable(body), id);
  return call.house.trial(now => {
    const present = noun.find(now, id);
    return [
      present === undefined
        ? editTo(call, noun, id, sent, undefined)
        : updateOf(call, noun, { id, sent, present }),
    ];
  });
}

/** Takes an item out. `check` throws when it must stay. Answers the last configuration that had it. */
export async function removeItem(
  call: Call,
  noun: Noun,
  { id, ifMatch }: Write,
  check: (now: Configuration) => void = () => {},
): Promise<Configuration> {
  let before = call.house.configuration();
  await save(call, now => {
    const present = presentItem(call, noun, now, id);
    assertMatches(ifMatch, present.inForce);
    check(now);
    before = now;
    return [{ section: noun.section, id, value: undefined }];
  });
  return before;
}

const save = ({ actor, house }: Call, edits: (now: Configuration) => readonly Edit[]) =>
  house.save({ author: actor.name, door: 'api', edits });

function presentItem({ group }: Call, noun: Noun, now: Configuration, id: string): Present {
  const present = noun.find(now, id);
  if (present === undefined || (group !== undefined && present.inForce.group !== group))
    throw notFound(noun.name, id);
  return present;
}

function editTo(call: Call, noun: Noun, id: string, item: PlainMap, present: Present | undefined): Edit {
  const { section } = noun;
  const schema = noun.schema(item);
  if (schema === undefined) return { section, id, value: item };
  const owner = noun.secretOwner?.(id);
  const { value, secrets } =
    owner === undefined
      ? { value: item, secrets: [] }
      : withStoredSecrets(call, { schema, owner, item, present });
  const before = { inFile: present?.inFile, inForce: present?.inForce };
  return { section, id, value: asInFile(schema, value, before), secrets };
}

function withId(body: PlainMap, asked: string | undefined): PlainMap {
  if (asked === undefined || body.id === asked) return body;
  if (body.id !== undefined) refuse('id', `must be '${asked}', as the query says`);
  return { id: asked, ...body };
}

function identifierOf(noun: Noun, item: PlainMap): string {
  const read = identifier.safeParse(item.id);
  if (read.success) return read.data;
  const message = item.id === undefined ? 'is required' : 'must be 1 to 512 letters, digits, "_" or "-"';
  throw wrongItem(noun, item, message);
}

/** A path that names a group sets it. */
function inGroup({ group }: Call, noun: Noun, item: PlainMap): PlainMap {
  if (!noun.grouped || group === undefined) return item;
  if (item.group !== undefined && item.group !== group)
    refuse('group', `must be '${group}', as the path says`);
  return { ...item, group };
}
