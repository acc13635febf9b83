import * as z from 'zod';
import { type Configuration, NOTIFICATIONS_FILE } from '../config/configuration.ts';
import { shownTarget } from '../config/secrets/shown.ts';
import { AppError, notFound, type Problem } from '../lib/errors.ts';
import { failuresOf } from '../notifications/incidents/target-health.ts';
import type { IncidentRow } from '../storage/stores/incidents.ts';
import { findTargetType } from '../targets/index.ts';
import { mailAddresses } from '../targets/recipients.ts';
import type { CommonSettings, Target } from '../targets/target.ts';
import type { Call } from './context.ts';
import { queueHeld } from './held.ts';
import {
  createItem,
  dryRunItem,
  itemBody,
  itemRemoval,
  itemUpdate,
  type ResourceDefinition,
  removeItem,
  updateItem,
} from './item-writes.ts';
import { listPageOf, pageQuery } from './paging.ts';
import { shownTo } from './shown-addresses.ts';
import { defineVerb } from './verb.ts';

const targetResource: ResourceDefinition = {
  name: 'target',
  section: 'targets',
  fixed: ['id', 'type'],
  grouped: false,
  secretOwner: 'target',
  find(now, id) {
    const found = now.targets.find(target => target.settings.id === id);
    return found && { inFile: now.raw.targets.get(id), effective: shownTarget(now, found) };
  },
  schema: ({ type }) => (typeof type === 'string' ? findTargetType(type)?.schema : undefined),
};

/** A target as reads answer it. */
export interface DescribedTarget {
  /** Effective, with what is hidden masked; addresses in part for those who may not change targets. */
  readonly settings: ReturnType<typeof shownTarget>;
  /** Why it sends nothing although it is configured. */
  readonly switchedOff?: string | undefined;
  /** The open incident of a target that fails. */
  readonly failure: IncidentRow | undefined;
  /** Why deliveries to it that are due wait, when they do. */
  readonly heldBecause: string | undefined;
  /** The expression of it that failed in the last attempt. */
  readonly warning?: string | undefined;
}

type Reader = Pick<Call, 'actor' | 'context'>;

function settingsFor({ actor }: Reader, now: Configuration, target: Target) {
  const shown = shownTarget(now, target);
  const schema = findTargetType(target.settings.type)?.schema;
  return schema === undefined ? shown : shownTo(actor, NOTIFICATIONS_FILE, schema, shown);
}

async function describeTargets(
  reader: Reader,
  now: Configuration,
  targets: readonly Target[],
): Promise<readonly DescribedTarget[]> {
  const { stores, hold, warningOf, clock } = reader.context;
  const failures = await failuresOf(stores.incidents);
  return targets.map(target => {
    const { id } = target.settings;
    const held = hold(id);
    return {
      settings: settingsFor(reader, now, target),
      switchedOff: target.switchedOff,
      failure: failures.get(id),
      heldBecause: held && queueHeld(held, clock.now()).because,
      warning: warningOf(id),
    };
  });
}

/** Throws `not-found`. */
async function describeTarget(reader: Reader, now: Configuration, id: string): Promise<DescribedTarget> {
  const target = now.targets.find(({ settings }) => settings.id === id);
  const [described] = target === undefined ? [] : await describeTargets(reader, now, [target]);
  if (described === undefined) throw notFound('target', id);
  return described;
}

/** Effective settings; secrets are masked. */
export const listTargets = defineVerb({
  permission: 'read:targets',
  input: z.object(pageQuery),
  async run(call, query) {
    const now = call.context.configuration();
    const page = listPageOf(query, now.targets);
    return { ...page, items: await describeTargets(call, now, page.items) };
  },
});

/** Effective settings; secrets are masked. */
export const getTarget = defineVerb({
  permission: 'read:targets',
  input: z.object({ id: z.string().max(512) }),
  run: (call, { id }) => describeTarget(call, call.context.configuration(), id),
});

/** The oldest first. */
export const listKeptSettings = defineVerb({
  permission: 'read:targets',
  input: z.object(pageQuery),
  run: async ({ context }, query) => listPageOf(query, await context.keptSettings.list()),
});

/** Answers what it removed. Throws `not-found`. */
export const removeKeptSettings = defineVerb({
  permission: 'update:targets',
  input: z.object({ id: z.string().max(580) }),
  run: ({ context }, { id }) => context.keptSettings.remove(id),
});

/** Secrets of the body go to the encrypted store, references to them into the file. */
export const createTarget = defineVerb({
  permission: 'update:targets',
  input: z.object({ id: z.string().optional(), body: itemBody }),
  async run(call, input) {
    const { configuration, id } = await createItem(call, targetResource, input);
    return describeTarget(call, configuration, id);
  },
});

/** Throws `unprocessable` when secrets would go to another destination than the one they were entered for. */
export const updateTarget = defineVerb({
  permission: 'update:targets',
  input: itemUpdate,
  run: async (call, input) => describeTarget(call, await updateItem(call, targetResource, input), input.id),
});

/** Throws `conflict`, naming everything that sends to the target. */
function assertUnused(now: Configuration, id: string): void {
  const usages = usagesOf(now, id);
  if (usages.length === 0) return;
  const problems = usages.slice(0, MOST_NAMED).map(path => ({ path, message: `uses target '${id}'` }));
  const names = problems.map(({ path }) => path).join(', ');
  const more = usages.length > MOST_NAMED ? ` and ${usages.length - MOST_NAMED} more` : '';
  throw new AppError('conflict', `target '${id}' is in use by ${names}${more}; take it out of them first`, {
    problems,
  });
}

const MOST_NAMED = 20;

function usagesOf({ notifications, settings: own, targets }: Configuration, id: string): Problem['path'][] {
  const sendsToIt = (settings: CommonSettings): boolean =>
    findTargetType(settings.type)
      ?.references(settings)
      .some(reference => reference.id === id) === true;
  return [
    ...(own.delivery.operationalTarget === id ? ['delivery.operationalTarget'] : []),
    ...notifications
      .filter(
        ({ settings }) =>
          settings.targets.includes(id) ||
          settings.escalateTo?.includes(id) === true ||
          settings.targetConfigs.some(config => config.id === id),
      )
      .map(notification => `notification '${notification.id}'`),
    ...targets
      .filter(({ settings }) => settings.id !== id && sendsToIt(settings))
      .map(({ settings }) => `target '${settings.id}' (${settings.type})`),
  ];
}

/** Answers what it removed. Refused with `conflict` while something sends to it. */
export const removeTarget = defineVerb({
  permission: 'update:targets',
  input: itemRemoval,
  async run(call, input) {
    const before = await removeItem(call, targetResource, input, now => assertUnused(now, input.id));
    return describeTarget(call, before, input.id);
  },
});

const body = z
  .strictObject({
    testEmails: z
      .array(mailAddresses)
      .max(100)
      .optional()
      .describe('Who gets the test of an smtp target; of other types nobody asks.'),
    target: itemBody
      .optional()
      .describe(
        'Settings to test in place of the active ones, as an update takes them; they are not stored.',
      ),
  })
  .optional();

/**
 * Sends a test through what deliveries are sent through, and answers what came of it. With settings of the body it is
 * refused as an update with them would be, so that no secret goes elsewhere than where it was entered for.
 */
export const testTarget = defineVerb({
  permission: 'update:targets',
  input: z.object({ id: z.string().max(512), body }),
  async run(call, { id, body: requested }) {
    const configuration =
      requested?.target === undefined
        ? call.context.configuration()
        : await dryRunItem(call, targetResource, { id, body: requested.target });
    const targets = new Map(configuration.targets.map(target => [target.settings.id, target]));
    const result = await call.context.testSend({
      id,
      targets,
      requestedBy: call.actor.name,
      emails: requested?.testEmails ?? [],
    });
    // Other settings say nothing of the target as it is.
    if (result.success && requested?.target === undefined) call.context.targetIsWell(id);
    return result;
  },
});
