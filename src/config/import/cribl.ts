import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { findCondition } from '../../conditions/index.ts';
import { AppError, reasonOf } from '../../lib/errors.ts';
import { findTargetType } from '../../targets/index.ts';
import { INPUTS_FILE, NOTIFICATIONS_FILE, OUTPUTS_FILE } from '../configuration.ts';
import { isMap } from '../plain.ts';
import { formatPath } from '../problems.ts';
import type { ConfigDocument } from '../yaml/document.ts';
import {
  type Conversion,
  type Draft,
  draftOf,
  Moved,
  placeIn,
  readForeign,
  type SourcePlace,
  shortOf,
} from './moved.ts';

/** Where Cribl keeps files of a configuration, below its home, the folder of a group, or a copy of them. */
const BELOW = ['.', 'local/cribl'] as const;
const FILES = [NOTIFICATIONS_FILE, INPUTS_FILE, OUTPUTS_FILE] as const;
const SECTIONS = {
  [NOTIFICATIONS_FILE]: ['targets', 'notifications'],
  [INPUTS_FILE]: ['inputs'],
  [OUTPUTS_FILE]: ['outputs'],
} as const;
type Section = (typeof SECTIONS)[keyof typeof SECTIONS][number];

/** Cribl has it in every installation, in no file. */
const SYSTEM_NOTIFICATIONS = 'system_notifications';

interface Source {
  readonly document: ConfigDocument;
  /** The path below the folder. */
  readonly shown: string;
  readonly group: string | undefined;
}

/**
 * Converts the files of a Cribl folder: of one instance, or of a leader with `groups/`. Throws `not-found` where there is
 * none, and `invalid-request` for one that cannot be read.
 */
export function importCribl(folder: string): Conversion {
  const moved = new Moved();
  const found = foldersOf(folder).flatMap(({ path, group }) =>
    FILES.map(name => ({ path, group, name })).filter(({ name }) => existsSync(join(path, name))),
  );
  if (found.length === 0)
    throw new AppError(
      'not-found',
      `there is no ${FILES.join(', ')} in '${folder}', its local/cribl or groups/`,
    );
  for (const { path, group, name } of found) {
    const source = { document: readForeign(path, name), shown: relative(folder, join(path, name)), group };
    for (const section of SECTIONS[name]) addSection(moved, section, source);
    for (const key of Object.keys(source.document.value))
      if (!SECTIONS[name].some(section => section === key))
        moved.leftOut(
          placeIn(source.document, [key], source.shown)(),
          `${key}: Headgate has nothing like it`,
        );
  }
  return moved.finish();
}

function foldersOf(folder: string): { readonly path: string; readonly group: string | undefined }[] {
  try {
    if (!statSync(folder).isDirectory()) throw new AppError('not-found', `'${folder}' is not a folder`);
    const groupsFolder = join(folder, 'groups');
    const groups = existsSync(groupsFolder) ? readdirSync(groupsFolder).sort() : [];
    return ['', ...groups].flatMap(group =>
      BELOW.map(below => ({
        path: group === '' ? join(folder, below) : join(groupsFolder, group, below),
        group: group === '' ? undefined : group,
      })),
    );
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('not-found', `cannot read '${folder}': ${reasonOf(error)}`);
  }
}

function addSection(moved: Moved, section: Section, source: Source): void {
  const { document, shown, group } = source;
  const content: unknown = Reflect.get(document.value, section);
  if (content === undefined || content === null) return;
  if (typeof content !== 'object') {
    moved.leftOut(
      placeIn(document, [section], shown)(),
      `${section}: is no list or map, but ${shortOf(content)}`,
    );
    return;
  }
  for (const { key, value, path } of entriesOf(section, content)) {
    const place = placeIn(document, path, shown);
    const draft = draftOf(value);
    const label = formatPath([section, key]);
    if (draft === undefined) {
      moved.leftOut(place(), `${label}: is no map of settings, but ${shortOf(value)}`);
      continue;
    }
    if (typeof key === 'number') {
      moved.leftOut(place(), `${label}: has no id`);
      continue;
    }
    const item = withId(moved, draft, key, { label, place });
    if (group !== undefined && section !== 'targets' && item.group === undefined) item.group = group;
    CONVERT[section](moved, item, place);
  }
}

interface Entry {
  /** The index of what has no id in a list. */
  readonly key: string | number;
  readonly value: unknown;
  readonly path: (string | number)[];
}

/** The items of a list, of a map by id, or the one that stands there by itself. */
function entriesOf(section: Section, content: object): Entry[] {
  if (Array.isArray(content))
    return content.map((value: unknown, index) => ({
      key: isMap(value) && typeof value.id === 'string' ? value.id : index,
      value,
      path: [section, index],
    }));
  const { id, type, condition }: { id?: unknown; type?: unknown; condition?: unknown } = content;
  if (typeof id === 'string' && (typeof type === 'string' || typeof condition === 'string'))
    return [{ key: id, value: content, path: [section] }];
  return Object.entries(content).map(([key, value]) => ({ key, value, path: [section, key] }));
}

/** In a map the key is the id, whatever the item says. */
function withId(
  moved: Moved,
  { id, ...rest }: Draft,
  key: string,
  { label, place }: { readonly label: string; readonly place: SourcePlace },
): Draft {
  if (id !== undefined && id !== key)
    moved.changed(place(['id']), `${label}: its id is its key, not ${shortOf(id)}`);
  return { id: key, ...rest };
}

type Convert = (moved: Moved, item: Draft, place: SourcePlace) => void;

const CONVERT: Readonly<Record<Section, Convert>> = {
  targets: addTarget,
  notifications: addNotification,
  inputs: (moved, item, place) => moved.add('inputs', item, place),
  outputs: (moved, item, place) => moved.add('outputs', item, place),
};

interface Fix {
  readonly types: readonly string[];
  readonly applies: (target: Draft) => boolean;
  readonly set: Draft;
  readonly reason: string;
}

/** What Cribl lets a target say in a way of its own. */
const FIXES: readonly Fix[] = [
  {
    types: ['smtp'],
    applies: ({ username, password, smtpUsername, smtpPassword }) =>
      [username, password, smtpUsername, smtpPassword].every(one => one === undefined),
    set: { smtpUsername: '', smtpPassword: '' },
    reason: "smtpUsername and smtpPassword are '', as the server asks for none",
  },
  {
    types: ['pager_duty'],
    applies: ({ severity }) => severity === 'warn',
    set: { severity: 'warning' },
    reason: "severity is 'warning', PagerDuty's word for warn",
  },
  {
    types: ['pager_duty'],
    applies: ({ severity }) => severity === undefined,
    set: { severity: 'info' },
    reason: "severity is 'info', Cribl's default",
  },
  {
    types: ['sns'],
    applies: ({ signatureVersion }) => signatureVersion === 'v2',
    set: { signatureVersion: 'v4' },
    reason: 'signatureVersion is v4, as AWS has replaced v2',
  },
  {
    types: ['sns'],
    applies: ({ destinationType }) => destinationType === undefined,
    set: { destinationType: 'topic' },
    reason: "destinationType is 'topic', Cribl's default",
  },
  {
    types: ['sns'],
    applies: ({ topicArn, destinationType }) => topicArn === undefined && destinationType === 'phoneNumber',
    set: { topicArn: '' },
    reason: "topicArn is '', as phones get the events",
  },
  {
    types: ['sns'],
    applies: ({ messageGroupId, topicType }) => messageGroupId === undefined && topicType !== 'fifo',
    set: { messageGroupId: '' },
    reason: "messageGroupId is '', as the topic is not fifo",
  },
];

/** Answers of Cribl's API that end in files as well, and say nothing. */
const READ_ONLY = ['status', 'lib', '__filename'];

function addTarget(moved: Moved, target: Draft, place: SourcePlace): void {
  const label = `targets.${String(target.id)}`;
  const { type } = target;
  if (typeof type !== 'string' || findTargetType(type) === undefined) {
    moved.leftOut(place(['type']), `${label}: Headgate has no targets of type ${shortOf(type)}`);
    return;
  }
  for (const key of READ_ONLY) delete target[key];
  for (const { types, applies, set, reason } of FIXES)
    if (types.includes(type) && applies(target)) {
      Object.assign(target, set);
      moved.changed(place(), `${label}: ${reason}`);
    }
  moved.add('targets', target, place);
}

function addNotification(moved: Moved, notification: Draft, place: SourcePlace): void {
  const label = `notifications.${String(notification.id)}`;
  const { condition, targets } = notification;
  if (typeof condition !== 'string' || findCondition(condition) === undefined) {
    moved.leftOut(place(['condition']), `${label}: Headgate has no condition ${shortOf(condition)}`);
    return;
  }
  const named: readonly unknown[] = Array.isArray(targets) ? targets : [];
  if (named.includes(SYSTEM_NOTIFICATIONS) && !moved.has('targets', SYSTEM_NOTIFICATIONS)) {
    moved.add('targets', { id: SYSTEM_NOTIFICATIONS, type: 'bulletin_message' }, place);
    moved.changed(
      place(['targets']),
      `${label}: the target ${SYSTEM_NOTIFICATIONS}, which every Cribl has, is a bulletin_message`,
    );
  }
  moved.add('notifications', notification, place);
}
