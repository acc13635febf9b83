import * as z from 'zod';
import { type Configuration, type Declared, INPUTS_FILE, OUTPUTS_FILE } from '../config/configuration.ts';
import { declaredSchema } from '../config/declared-schema.ts';
import type { PlainMap } from '../config/plain.ts';
import { shownDeclared, shownNotification } from '../config/secrets/shown.ts';
import { notFound } from '../lib/errors.ts';
import { createComponentMatcher } from '../notifications/subjects.ts';
import type { Component, ComponentStatus, Components } from '../pipelines/components/component.ts';
import type { ComponentKind } from '../pipelines/metric.ts';
import type { Call, WorkspaceContext } from './context.ts';
import { assertMatches } from './etag.ts';
import {
  createItem,
  itemBody,
  itemRemoval,
  itemUpdate,
  type ResourceDefinition,
  removeItem,
  updateItem,
  writable,
} from './item-writes.ts';
import { listPageOf, type PageInput, pageQuery } from './paging.ts';
import { shownTo } from './shown-addresses.ts';
import { defineVerb } from './verb.ts';

/** An input or output that a file declares, that was seen in a pipeline, or both: then it is one. */
export interface KnownComponent {
  readonly kind: ComponentKind;
  readonly id: string;
  readonly type: string;
  readonly group: string;
  readonly declared: Declared | undefined;
  readonly component: Component | undefined;
}

/** The components of the workspace together with the declarations of a configuration. */
export type ComponentSources = Pick<WorkspaceContext, 'components'> & { readonly now: Configuration };

export const componentSourcesOf = (context: WorkspaceContext): ComponentSources => ({
  components: context.components,
  now: context.configuration(),
});

/**
 * All of a kind that meet the condition: the declared ones in the order of their file, then those that were only seen. Of
 * these there may be very many, so each is described when its turn comes.
 */
export function knownComponents(
  { components, now }: ComponentSources,
  kind: ComponentKind,
  isWanted: (one: Pick<KnownComponent, 'type' | 'group'>) => boolean = () => true,
): { readonly length: number; slice(from?: number, to?: number): KnownComponent[] } {
  const declared = now[`${kind}s`];
  const ids = new Set(declared.map(({ id }) => id));
  const named = new Map<string, Component>();
  const seen: Component[] = [];
  for (const component of components.all()) {
    if (component.kind !== kind) continue;
    if (ids.has(component.id)) named.set(component.id, component);
    else if (isWanted(component)) seen.push(component);
  }
  const fromFiles = declared.map(one => fromFile(one, named.get(one.id))).filter(isWanted);
  const length = fromFiles.length + seen.length;
  return {
    length,
    slice: (from = 0, to = length) => [
      ...fromFiles.slice(from, to),
      ...seen
        .slice(Math.max(0, from - fromFiles.length), Math.max(0, to - fromFiles.length))
        .map(fromPipeline),
    ],
  };
}

function findComponent(
  { components, now }: ComponentSources,
  kind: ComponentKind,
  id: string,
): KnownComponent | undefined {
  const declared = now[`${kind}s`].find(one => one.id === id);
  const component = components.all().find(one => one.kind === kind && one.id === id);
  if (declared !== undefined) return fromFile(declared, component);
  return component && fromPipeline(component);
}

/** A file that names no group leaves it to the pipeline. */
function fromFile(declared: Declared, component: Component | undefined): KnownComponent {
  const { kind, id, type } = declared;
  const isGrouped = declared.value.group !== undefined;
  const group = isGrouped || component === undefined ? declared.group : component.group;
  return { kind, id, type, group, declared, component };
}

function fromPipeline(component: Component): KnownComponent {
  const { kind, id, type, group } = component;
  return { kind, id, type, group, declared: undefined, component };
}

/** The component's settings, defaults included. */
function componentSettings({ id, type, group, declared }: KnownComponent): PlainMap {
  const own = { id, type, disabled: declared?.disabled ?? false, group };
  return declared === undefined ? own : { ...writable(shownDeclared(declared)), ...own };
}

/** A component with how it is now and the notifications that watch it. */
export interface DescribedComponent {
  readonly settings: PlainMap;
  /** As it was seen; undefined when it never was. */
  readonly component: Component | undefined;
  readonly isDeclared: boolean;
  readonly status: ComponentStatus;
  /** Settings of the notifications whose conf means this component. */
  readonly notifications: readonly object[];
}

/** Made once per answer: reads the configuration once for all components of a page. */
function createDescriber({
  components,
  now,
}: ComponentSources): (known: KnownComponent) => DescribedComponent {
  const watching = now.notifications.flatMap(notification => {
    const selector = notification.rule.components;
    if (selector === undefined) return [];
    const settings = shownNotification(now, notification);
    return { settings, matches: createComponentMatcher(selector, selector.kind) };
  });
  return known => {
    const component = known.component ?? asNeverSeen(known);
    return {
      settings: componentSettings(known),
      component: known.component,
      isDeclared: known.declared !== undefined,
      status: components.status(component),
      notifications: watching.filter(one => one.matches(component)).map(one => one.settings),
    };
  };
}

/** No pipeline has it, so that its status is unknown. */
export const asNeverSeen = ({ kind, id, type, group }: KnownComponent): Component => ({
  group,
  pipeline: '',
  engine: '',
  kind,
  type,
  engineId: id,
  id,
});

/** One that was only seen is there as well: the first change of it declares it. */
const componentResource = (kind: ComponentKind, components: Components): ResourceDefinition => ({
  name: kind,
  section: `${kind}s`,
  fixed: ['id', 'type'],
  grouped: true,
  secretOwner: kind,
  find(now, id) {
    const known = findComponent({ components, now }, kind, id);
    return known && { inFile: now.raw[`${kind}s`].get(id), effective: componentSettings(known) };
  },
  schema: () => declaredSchema,
});

function describeComponent(
  sources: ComponentSources,
  kind: ComponentKind,
  id: string,
  group?: string,
): DescribedComponent {
  const known = findComponent(sources, kind, id);
  if (known === undefined || (group !== undefined && known.group !== group)) throw notFound(kind, id);
  return createDescriber(sources)(known);
}

const shownBy =
  (actor: Call['actor'], kind: ComponentKind) =>
  (described: DescribedComponent): DescribedComponent => ({
    ...described,
    settings: shownTo(
      actor,
      kind === 'input' ? INPUTS_FILE : OUTPUTS_FILE,
      declaredSchema,
      described.settings,
    ),
  });

function getComponent(kind: ComponentKind) {
  return defineVerb({
    permission: `read:${kind}s`,
    input: z.object({ id: z.string().max(512) }),
    run: ({ actor, context, group }, { id }) =>
      shownBy(actor, kind)(describeComponent(componentSourcesOf(context), kind, id, group)),
  });
}

export const getInput = getComponent('input');
export const getOutput = getComponent('output');

type ListQuery = PageInput & { readonly type?: string | undefined };

function listKind({ actor, context, group }: Call, kind: ComponentKind, query: ListQuery) {
  const sources = componentSourcesOf(context);
  const wanted = knownComponents(
    sources,
    kind,
    known =>
      (query.type === undefined || known.type === query.type) &&
      (group === undefined || known.group === group),
  );
  const page = listPageOf(query, wanted);
  const describe = createDescriber(sources);
  const show = shownBy(actor, kind);
  return { ...page, items: page.items.map(known => show(describe(known))) };
}

const listComponents = (kind: ComponentKind) =>
  defineVerb({
    permission: `read:${kind}s`,
    input: z.object({ ...pageQuery, type: z.string().optional() }),
    run: (call, query) => listKind(call, kind, query),
  });

export const listInputs = listComponents('input');
export const listOutputs = listComponents('output');

/** What Cribl-compatible clients send to the status of components: there `type` says how ids are written. */
const statusQuery = {
  type: z
    .string()
    .optional()
    .describe(
      '`true` writes each id as `type:id`, `false` as it is; another text leaves only components of that type.',
    ),
  metrics: z.enum(['true', 'false']).optional().describe('Makes no difference: metrics are always answered.'),
};
const isIdForm = (type: string | undefined): boolean => type === 'true' || type === 'false';

/** With `type` true the id begins with the type, as in `syslog:app`. */
function withIdForm(described: DescribedComponent, type: string | undefined): DescribedComponent {
  if (type !== 'true') return described;
  const { settings } = described;
  return { ...described, settings: { ...settings, id: `${String(settings.type)}:${String(settings.id)}` } };
}

function listStatus(kind: ComponentKind) {
  return defineVerb({
    permission: `read:${kind}s`,
    input: z.object({ ...pageQuery, ...statusQuery }),
    run(call, { type, ...query }) {
      const page = listKind(call, kind, isIdForm(type) ? query : { ...query, type });
      return { ...page, items: page.items.map(described => withIdForm(described, type)) };
    },
  });
}

export const listInputStatus = listStatus('input');
export const listOutputStatus = listStatus('output');

/** Takes the id in both forms. */
function getStatus(kind: ComponentKind) {
  return defineVerb({
    permission: `read:${kind}s`,
    input: z.object({ id: z.string().max(512), ...statusQuery }),
    run({ actor, context, group }, { id, type }) {
      // Ids hold no colon, types may.
      const colon = id.lastIndexOf(':');
      const described = describeComponent(componentSourcesOf(context), kind, id.slice(colon + 1), group);
      const { type: own } = described.settings;
      if (colon !== -1 && id.slice(0, colon) !== own) throw notFound(kind, id);
      if (type !== undefined && !isIdForm(type) && type !== own) throw notFound(kind, id);
      return withIdForm(shownBy(actor, kind)(described), type);
    },
  });
}

export const getInputStatus = getStatus('input');
export const getOutputStatus = getStatus('output');

/** Declares a component, whether or not it was seen already. */
function createComponent(kind: ComponentKind) {
  return defineVerb({
    permission: `update:${kind}s`,
    input: z.object({ id: z.string().optional(), body: itemBody }),
    async run(call, input) {
      const { components } = call.context;
      const { configuration: now, id } = await createItem(call, componentResource(kind, components), input);
      return describeComponent({ components, now }, kind, id);
    },
  });
}

export const createInput = createComponent('input');
export const createOutput = createComponent('output');

/** Changes what the configuration says of a component; of one that was only seen it then says something. */
function updateComponent(kind: ComponentKind) {
  return defineVerb({
    permission: `update:${kind}s`,
    input: itemUpdate,
    async run(call, input) {
      const { components } = call.context;
      const now = await updateItem(call, componentResource(kind, components), input);
      return describeComponent({ components, now }, kind, input.id);
    },
  });
}

export const updateInput = updateComponent('input');
export const updateOutput = updateComponent('output');

/**
 * Answers what it removed: the declaration, and what is known of a component that is gone. What a pipeline has stays to be
 * seen. Throws `conflict` for one without a declaration that is not gone.
 */
function removeComponent(kind: ComponentKind) {
  return defineVerb({
    permission: `update:${kind}s`,
    input: itemRemoval,
    async run(call, input) {
      const { context, group } = call;
      const { components } = context;
      const resource = componentResource(kind, components);
      const known = findComponent(componentSourcesOf(context), kind, input.id);
      if (known?.component !== undefined && known.declared === undefined) {
        const described = describeComponent(componentSourcesOf(context), kind, input.id, group);
        assertMatches(input.ifMatch, described.settings);
        await context.removeComponent(known.component);
        return described;
      }
      const now = await removeItem(call, resource, input);
      const described = describeComponent({ components, now }, kind, input.id);
      if (described.component !== undefined && described.status.presence === 'gone')
        await context.removeComponent(described.component);
      return described;
    },
  });
}

export const removeInput = removeComponent('input');
export const removeOutput = removeComponent('output');
