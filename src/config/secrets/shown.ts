import * as z from 'zod';
import { isMask, MASK, SecretUrl } from '../../lib/secret.ts';
import type { Notification } from '../../notifications/notification.ts';
import { findTargetType } from '../../targets/index.ts';
import type { Target } from '../../targets/target.ts';
import type { Configuration, Declared } from '../configuration.ts';
import { declaredSchema } from '../declared-schema.ts';
import { isMap, type PlainMap, plainCopy } from '../plain.ts';
import {
  bearsSecret,
  childOf,
  childrenOf,
  firstOf,
  fixedValues,
  isDestination,
  isOpen,
  isSecretText,
  isTemplate,
  namesOf,
  type Schema,
} from '../schema-walk.ts';
import { settingsSchema } from '../settings.ts';
import type { Path } from '../yaml/places.ts';
import { isReference, mayRefer } from './references.ts';

/**
 * An item's effective content as reads show it: secrets masked, and everything that a reference stands for, whatever the
 * field; `raw` is the item as its file has it. Numbers, switches and words of a fixed choice are shown, being no secrets.
 */
export const shownContent = (schema: Schema, effective: object, raw: unknown): PlainMap => {
  const shown = show([schema], plainCopy(effective), raw);
  return isMap(shown) ? shown : {};
};

function show(schemas: readonly Schema[], value: unknown, raw: unknown): unknown {
  if (schemas.some(isTemplate) || (!schemas.some(bearsSecret) && !mayRefer(raw))) return value;
  if (Array.isArray(value)) {
    const childAt = childrenOf(schemas, value);
    return value.map((one, index) => show(childAt(index), one, childOf(raw, index)));
  }
  if (isMap(value)) {
    const childAt = childrenOf(schemas, value);
    const entries = Object.entries(value).map(([key, one]) => [
      key,
      show(childAt(key), one, firstOf(raw, namesOf(schemas, value, key))),
    ]);
    return Object.fromEntries(entries);
  }
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const text = String(value);
  if (text === '' || isMask(text)) return value;
  const isReferred = isReference(raw) && typeof value === 'string' && !isOfFixedChoice(schemas);
  return isReferred || schemas.some(schema => isSecretText(schema, text)) ? MASK : value;
}

const isOfFixedChoice = (schemas: readonly Schema[]): boolean =>
  schemas.some(schema => fixedValues(schema).length > 0);

const shownTargets = new WeakMap<Configuration, ReadonlyMap<Target, PlainMap>>();

/** The targets of a configuration as reads show them; they stand in the order of their items. */
function allShown(now: Configuration): ReadonlyMap<Target, PlainMap> {
  const raw = [...now.raw.targets.values()];
  return new Map(
    now.targets.map((target, index) => {
      const schema = findTargetType(target.settings.type)?.schema;
      return [target, schema === undefined ? {} : shownContent(schema, target.settings, raw[index])];
    }),
  );
}

/** A target's effective settings as reads show them. */
export function shownTarget(now: Configuration, target: Target): PlainMap {
  const shown = shownTargets.get(now) ?? allShown(now);
  shownTargets.set(now, shown);
  return shown.get(target) ?? {};
}

/**
 * A notification's settings with every default, but for `conf` and the `conf` of `targetConfigs`: these are as they were
 * written, so that programs which compare what they sent with what they read find no difference.
 */
export function shownNotification(now: Configuration, { id, settings }: Notification): PlainMap {
  const raw = now.raw.notifications.get(id);
  const conf = childOf(raw, 'conf');
  const written = childOf(raw, 'targetConfigs');
  // As one copy: keys behind a spread cost lists of thousands much.
  return Object.assign({}, settings, {
    conf: isMap(conf) ? conf : {},
    targetConfigs: Array.isArray(written) ? written : [],
  });
}

const shownSettingsOf = new WeakMap<Configuration, PlainMap>();

/** The effective settings of headgate.yml as reads show them. */
export function shownSettings(now: Configuration): PlainMap {
  const shown = shownSettingsOf.get(now) ?? shownContent(settingsSchema, now.settings, now.raw.settings);
  shownSettingsOf.set(now, shown);
  return shown;
}

/** What a file says of a component, as reads show it. */
export const shownDeclared = ({ value }: Pick<Declared, 'value'>): PlainMap =>
  shownContent(declaredSchema, value, value);

/**
 * An http address for those who may see where it leads and no more, as what comes behind the host may be the key to it;
 * undefined for a text that is no address, or one that has nothing behind the host.
 */
export function maskedAddress(text: unknown): string | undefined {
  if (typeof text !== 'string' || !/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const { origin, href } = new URL(text);
  return href === origin || href === `${origin}/` ? undefined : new SecretUrl(text).toString();
}

/** An address in an item, and what those see of it who may not change the item. */
export interface HiddenAddress {
  readonly path: Path;
  readonly value: string;
  readonly shown: string;
}

/** Content for those who may not change it, of addresses only the host, and which addresses that are. */
export function hideAddresses(
  schema: Schema,
  content: PlainMap,
): { readonly content: PlainMap; readonly hidden: readonly HiddenAddress[] } {
  const hidden: HiddenAddress[] = [];
  const value = hideIn([schema], content, [], found => {
    // The addresses of headgate.yml are read, not sent to: what could be a key stands in their queries.
    if (schema === settingsSchema && !found.value.includes('?')) return found.value;
    hidden.push(found);
    return found.shown;
  });
  return { content: isMap(value) ? value : {}, hidden };
}

/** Replaces the addresses that decide where something goes, but for defaults, and all in items without a fixed form. */
function hideIn(
  schemas: readonly Schema[],
  value: unknown,
  path: Path,
  hide: (found: HiddenAddress) => string,
): unknown {
  if (typeof value === 'string') {
    const isHidden = schemas.some(
      schema => isOpen(schema) || (isDestination(schema) && z.safeParse(schema, undefined).data !== value),
    );
    const shown = isHidden ? maskedAddress(value) : undefined;
    return shown === undefined ? value : hide({ path, value, shown });
  }
  if (typeof value !== 'object' || value === null) return value;
  const childAt = childrenOf(schemas, value);
  if (Array.isArray(value))
    return value.map((one, index) => hideIn(childAt(index), one, [...path, index], hide));
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, hideIn(childAt(key), one, [...path, key], hide)]),
  );
}
