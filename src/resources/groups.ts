import * as z from 'zod';
import { AppError, alreadyExists, notFound } from '../lib/errors.ts';
import { identifier } from '../lib/schemas.ts';
import { VERSION } from '../lib/version.ts';
import type { ComponentGroupRow } from '../storage/stores/components.ts';
import { componentSourcesOf, knownComponents } from './components.ts';
import {
  type Call,
  DEFAULT_GROUP,
  groupsOf,
  type PipelineGroup,
  type RunningProcess,
  type WorkspaceContext,
} from './context.ts';
import { listPageOf, pageQuery } from './paging.ts';
import { PRODUCT } from './product.ts';
import { type Machine, machineNow } from './settings.ts';
import { defineVerb } from './verb.ts';

const MOST_GROUPS = 1000;

/** A group, and the version of the configuration that counts in it as in every other. */
export interface DescribedGroup extends PipelineGroup {
  /** Undefined before the first version is written. */
  readonly version: string | undefined;
}

type Context = Pick<WorkspaceContext, 'configuration' | 'stores'>;

const named = (row: ComponentGroupRow, used: PipelineGroup | undefined): PipelineGroup => ({
  id: row.id,
  name: row.name,
  description: row.description,
  pipelines: used?.pipelines ?? [],
});

/** Those that something is in and those that were made by themselves, the default one first. */
async function allGroups({ configuration, stores }: Context): Promise<readonly PipelineGroup[]> {
  const groups = new Map(groupsOf(configuration()));
  for (const row of await stores.components.groups()) groups.set(row.id, named(row, groups.get(row.id)));
  const [first, ...others] = [...groups.values()];
  return first === undefined ? others : [first, ...others.sort((a, b) => (a.id < b.id ? -1 : 1))];
}

async function findGroup({ configuration, stores }: Context, id: string): Promise<PipelineGroup | undefined> {
  const used = groupsOf(configuration()).get(id);
  const row = await stores.components.group(id);
  return row === undefined ? used : named(row, used);
}

async function versionOf({ stores }: Context): Promise<string | undefined> {
  const { rows } = await stores.versions.list({ offset: 0, limit: 1 });
  return rows[0]?.id;
}

const described = async (context: Context, group: PipelineGroup): Promise<DescribedGroup> => ({
  ...group,
  version: await versionOf(context),
});

/** Other products of the same API have no groups here: as clients ask each, one listed twice would count twice. */
const product = z.string().max(64).optional();
const isOurs = (asked: string | undefined): boolean => asked === undefined || asked === PRODUCT;

function assertOurs(asked: string | undefined): void {
  if (!isOurs(asked))
    throw new AppError('not-offered', `Headgate does not have groups of '${asked}': all are of '${PRODUCT}'`);
}

const groupId = { id: z.string().max(512), product };

export const listGroups = defineVerb({
  permission: 'read:inputs',
  input: z.object({ ...pageQuery, product }),
  async run({ context }, query) {
    const page = listPageOf(query, isOurs(query.product) ? await allGroups(context) : []);
    const version = await versionOf(context);
    return { ...page, items: page.items.map((group): DescribedGroup => ({ ...group, version })) };
  },
});

/** Undefined when there is none, which is no error: Cribl-compatible clients ask so whether a group exists. */
export const getGroup = defineVerb({
  permission: 'read:inputs',
  input: z.object(groupId),
  async run({ context }, { id, product: asked }): Promise<DescribedGroup | undefined> {
    const group = isOurs(asked) ? await findGroup(context, id) : undefined;
    return group && described(context, group);
  },
});

/** What a body may say; further fields of other servers' groups make no difference. */
const fields = {
  name: z.string().max(140).optional().describe('Its id when left out.'),
  description: z.string().max(255).optional(),
  isFleet: z.literal(false, 'must be false: there are no fleets').optional(),
  isSearch: z.literal(false, 'must be false: there is no search').optional(),
};

/** Records name and description of a group, which is there from now on without anything in it. */
export const createGroup = defineVerb({
  permission: 'update:inputs',
  input: z.object({ product, body: z.looseObject({ id: identifier, ...fields }) }),
  async run({ context }, { product: asked, body }): Promise<DescribedGroup> {
    assertOurs(asked);
    const { id, name = id, description = '' } = body;
    if (groupsOf(context.configuration()).has(id)) throw alreadyExists(`group '${id}'`, 'PATCH it');
    const row = { id, name, description, created_at: context.clock.now() };
    await context.transaction(async tx => {
      if ((await tx.countComponentGroups()) >= MOST_GROUPS)
        throw new AppError('conflict', `there are ${MOST_GROUPS} groups already; remove one first`);
      await tx.addComponentGroup(row);
    });
    return described(context, named(row, undefined));
  },
});

/** Changes name and description; what is left out stays. */
export const updateGroup = defineVerb({
  permission: 'update:inputs',
  input: z.object({ ...groupId, body: z.looseObject({ id: z.string().optional(), ...fields }) }),
  async run({ context }, { id, product: asked, body }): Promise<DescribedGroup> {
    const group = await present(context, { id, product: asked });
    if (body.id !== undefined && body.id !== id)
      throw new AppError('invalid-request', `id: must stay '${id}'; make another group`, {
        problems: [{ path: 'id', message: `must stay '${id}'; make another group` }],
      });
    const { name = group.name, description = group.description } = body;
    const row = { id, name, description, created_at: context.clock.now() };
    await context.transaction(tx => tx.putComponentGroup(row));
    return described(context, named(row, group));
  },
});

/** Throws `conflict` while something is in it. Answers what it removed. */
export const removeGroup = defineVerb({
  permission: 'update:inputs',
  input: z.object(groupId),
  async run({ context }, asked): Promise<DescribedGroup> {
    const group = await present(context, asked);
    if (group.id === DEFAULT_GROUP) throw new AppError('conflict', "the group 'default' is always there");
    if (groupsOf(context.configuration()).has(group.id))
      throw new AppError(
        'conflict',
        `group '${group.id}' is not empty: pipelines, inputs, outputs or notifications name it`,
      );
    await context.transaction(tx => tx.removeComponentGroup(group.id));
    return described(context, group);
  },
});

/**
 * Answers the group, whose version is the newest: what is saved is in force at once, in all groups. Throws `not-found` for
 * a version that never was.
 */
export const deployGroup = defineVerb({
  permission: 'update:settings',
  input: z.object({
    ...groupId,
    body: z
      .looseObject({ version: z.string().max(64).optional().describe('Of `POST /version/commit`.') })
      .optional(),
  }),
  async run({ context }, { body, ...asked }): Promise<DescribedGroup> {
    const group = await present(context, asked);
    const version = body?.version;
    if (version !== undefined && (await context.stores.versions.get(version)) === undefined)
      throw notFound('version', version);
    return described(context, group);
  },
});

/** Throws `unavailable` before the first is written. */
export const getGroupVersion = defineVerb({
  permission: 'read:inputs',
  input: z.object(groupId),
  async run({ context }, asked) {
    await present(context, asked);
    const version = await versionOf(context);
    if (version !== undefined) return version;
    throw new AppError('unavailable', 'No version of the configuration is written yet');
  },
});

/** A process as a worker of Cribl-compatible clients. */
export interface Worker extends RunningProcess {
  /** Epoch ms of this answer, for which it was found running. */
  readonly seenAt: number;
  /** Of the only process; that of several is not known, and where others share it that is nobody's business. */
  readonly machine: Machine | undefined;
}

/** Where others share the processes there is one, which stands for all. */
async function workersOf({ context }: Call): Promise<readonly Worker[]> {
  const seenAt = context.clock.now();
  const live = context.isMachineShared ? [] : await context.processes();
  const machine = context.isMachineShared || live.length > 1 ? undefined : machineNow();
  const { name } = context.configuration().settings.instance;
  const startedAt = Math.floor(performance.timeOrigin);
  const found = live.length > 0 ? live : [{ id: name, version: VERSION, startedAt }];
  return found.map(one => ({ ...one, seenAt, machine }));
}

export const listWorkers = defineVerb({
  permission: 'read:settings',
  input: z.object({ ...pageQuery, product }),
  run: async (call, query) => listPageOf(query, isOurs(query.product) ? await workersOf(call) : []),
});

/** What there is of the installation, as counts. */
export interface Summary {
  readonly groups: number;
  readonly inputs: number;
  readonly outputs: number;
  readonly workers: number;
  readonly versions: number;
}

export const getSummary = defineVerb({
  permission: 'read:settings',
  input: z.object({
    product,
    mode: z.string().max(64).optional().describe('`worker`; of any other kind there are none.'),
  }),
  async run(call, { product: asked, mode = 'worker' }): Promise<Summary> {
    if (!isOurs(asked) || mode !== 'worker')
      return { groups: 0, inputs: 0, outputs: 0, workers: 0, versions: 0 };
    const sources = componentSourcesOf(call.context);
    const workers = await workersOf(call);
    return {
      groups: (await allGroups(call.context)).length,
      inputs: knownComponents(sources, 'input').length,
      outputs: knownComponents(sources, 'output').length,
      workers: workers.length,
      versions: new Set(workers.map(({ version }) => version)).size,
    };
  },
});

/** Who may do what in a group alone: nobody, as roles are of the whole workspace. */
export const listGroupAccess = defineVerb({
  permission: 'read:inputs',
  input: z.object(groupId),
  async run({ context }, asked): Promise<undefined> {
    await present(context, asked);
  },
});

async function present(
  context: Call['context'],
  { id, product: asked }: { readonly id: string; readonly product?: string | undefined },
): Promise<PipelineGroup> {
  assertOurs(asked);
  const group = await findGroup(context, id);
  if (group === undefined) throw notFound('group', id);
  return group;
}
