import * as z from 'zod';
import type { Configuration } from '../config/configuration.ts';
import { shownTarget } from '../config/secrets/shown.ts';
import type { TestResult } from '../delivery/test-send.ts';
import { AppError, notFound, type Problem } from '../lib/errors.ts';
import { failuresOf } from '../notifications/incidents/target-health.ts';
import type { IncidentRow } from '../storage/stores/incidents.ts';
import { findTargetType } from '../targets/index.ts';
import { mailAddresses } from '../targets/recipients.ts';
import type { CommonSettings } from '../targets/target.ts';
import type { WorkspaceContext } from './context.ts';
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
  /** Effective; secrets serialise as masks. */
  readonly settings: CommonSettings;
  /** The open incident of a target that fails. */
  readonly failure: IncidentRow | undefined;
  /** Why deliveries to it that are due wait, when they do. */
  readonly heldBecause: string | undefined;
}

type TargetSources = Pick<WorkspaceContext, 'stores' | 'heldBecause'>;

async function describeTargets(
  { stores, heldBecause }: TargetSources,
  targets: readonly CommonSettings[],
): Promise<readonly DescribedTarget[]> {
  const failures = await failuresOf(stores.incidents);
  return targets.map(settings => ({
    settings,
    failure: failures.get(settings.id),
    heldBecause: heldBecause(settings.id),
  }));
}

async function describeTarget(
  { stores, heldBecause }: TargetSources,
  settings: CommonSettings,
): Promise<DescribedTarget> {
  const failure = (await failuresOf(stores.incidents)).get(settings.id);
  return { settings, failure, heldBecause: heldBecause(settings.id) };
}

/** Effective settings; secrets serialise as masks. */
export const listTargets = defineVerb({
  permission: 'read:targets',
  input: z.object(pageQuery),
  async run({ context }, query) {
    const page = listPageOf(query, context.configuration().targets);
    const settings = page.items.map(target => target.settings);
    return { ...page, items: await describeTargets(context, settings) };
  },
});

function targetSettings({ targets }: Configuration, id: string) {
  const found = targets.find(target => target.settings.id === id);
  if (found === undefined) throw notFound('target', id);
  return found.settings;
}

/** Effective settings; secrets serialise as masks. */
export const getTarget = defineVerb({
  permission: 'read:targets',
  input: z.object({ id: z.string().max(512) }),
  run: ({ context }, { id }) => describeTarget(context, targetSettings(context.configuration(), id)),
});

/** Secrets of the body go to the encrypted store, references to them into the file. */
export const createTarget = defineVerb({
  permission: 'update:targets',
  input: z.object({ id: z.string().optional(), body: itemBody }),
  async run(call, input) {
    const { configuration, id } = await createItem(call, targetResource, input);
    return describeTarget(call.context, targetSettings(configuration, id));
  },
});

/** Throws `unprocessable` when secrets would go to another destination than the one they were entered for. */
export const updateTarget = defineVerb({
  permission: 'update:targets',
  input: itemUpdate,
  run: async (call, input) =>
    describeTarget(call.context, targetSettings(await updateItem(call, targetResource, input), input.id)),
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
          settings.targets.includes(id) || settings.targetConfigs.some(config => config.id === id),
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
    return describeTarget(call.context, targetSettings(before, input.id));
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
  async run(call, { id, body: requested }): Promise<TestResult> {
    const configuration =
      requested?.target === undefined
        ? call.context.configuration()
        : await dryRunItem(call, targetResource, { id, body: requested.target });
    const targets = new Map(configuration.targets.map(target => [target.settings.id, target]));
    return call.context.testSend({
      id,
      targets,
      requestedBy: call.actor.name,
      emails: requested?.testEmails ?? [],
    });
  },
});
