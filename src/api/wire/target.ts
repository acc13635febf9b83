import * as z from 'zod';
import { underOwnNames } from '../../lib/aliases.ts';
import type { DescribedTarget } from '../../resources/targets/described.ts';
import type { IncidentRow } from '../../storage/storage.ts';
import { findTargetType, targetTypes } from '../../targets/index.ts';
import type { CommonSettings } from '../../targets/target.ts';
import { isoTime } from '../envelope.ts';
import type { Shape } from '../shape.ts';

/** Names by which public clients of the family read a setting, beside its own name. */
const READ_AS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  slack: { url: 'slackUrl' },
  smtp: { username: 'smtpUsername', password: 'smtpPassword' },
  router: { rules: 'routes' },
  sns: { allowlist: 'allowList' },
};

/** `pager_duty` is PagerDuty: a kind of target by its type's words. */
const kindName = (type: string): string =>
  `${type
    .split('_')
    .map(word => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')}Target`;

const status = z.object({
  health: z.enum(['Green', 'Red']).describe('Red while deliveries to it fail.'),
  since: z.iso.datetime().optional().describe('Since when it fails.'),
  error: z.string().optional().describe('What its last failure was.'),
  heldBecause: z.string().optional().describe('Why what is due for it waits its turn, while it does.'),
});

/** One shape for each type of target, told apart by `type`. */
export const targetShape: Shape = {
  name: 'Target',
  sentAs: 'TargetSettings',
  schema: z.unknown(),
  kinds: targetTypes.map(({ type, schema }) => ({
    name: kindName(type),
    sentAs: `${kindName(type)}Settings`,
    schema,
    ...(READ_AS[type] && { also: READ_AS[type] }),
    adds: { status },
  })),
};

/** A target as the API answers it: effective settings, secrets masked when they are serialised. */
export function wireTarget({ settings, failure, heldBecause }: DescribedTarget): object {
  const others = Object.entries(READ_AS[settings.type] ?? {}).map(([name, key]) => [
    name,
    Reflect.get(settings, key),
  ]);
  return {
    ...settings,
    ...Object.fromEntries(others),
    status: { ...wireHealth(failure), ...(heldBecause !== undefined && { heldBecause }) },
  };
}

const wireHealth = (failure: IncidentRow | undefined): z.output<typeof status> =>
  failure === undefined
    ? { health: 'Green' }
    : { health: 'Red', since: isoTime(failure.opened_at), error: failure.text };

/**
 * A body under the settings' own names, as `underOwnNames` says. `present` is what the client may have read; undefined
 * for a target that is new.
 */
export function sentTarget(sent: object, present: CommonSettings | undefined): object {
  const type: unknown = Reflect.get(sent, 'type') ?? present?.type;
  const schema = typeof type === 'string' ? findTargetType(type)?.schema : undefined;
  if (schema === undefined) return sent;
  const shown: object | undefined = present && JSON.parse(JSON.stringify(present));
  return underOwnNames(schema, sent, shown);
}
