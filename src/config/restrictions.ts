import type { AddressPolicy } from '../lib/http/guard.ts';
import type { ConfiguredTarget, ProcessUse, Target } from '../targets/target.ts';
import { isMap } from './plain.ts';
import { formatPath } from './problems.ts';
import type { Quotas } from './quotas.ts';
import type { Path } from './yaml/places.ts';

/**
 * Where a workspace may send to and read from, whatever the installation itself may: public addresses, and the ones that
 * the operator has opened one by one for all workspaces.
 */
export const workspacePolicy = ({ allowedAddresses }: AddressPolicy): AddressPolicy => ({
  privateAddresses: 'refuse',
  allowedAddresses,
  remedy: 'ask the operator of this service to open it by delivery.allowedAddresses if it is meant',
  hidesNames: true,
});

/** What the configuration of a workspace may have only so many of, with the words for it. */
const COUNTED = {
  pipelines: 'pipelines',
  targets: 'targets',
  notifications: 'notifications',
  inhibitions: 'inhibitions',
  logFolders: 'folders of logs',
  configurationCharacters: 'characters',
} as const satisfies Partial<Record<keyof Quotas, string>>;

/** How much of each the configuration of a workspace may have. */
export type WorkspaceQuotas = Readonly<Record<keyof typeof COUNTED, number>>;

/**
 * Restrictions that the operator of an installation sets for its workspaces. A configuration under them has no files:
 * its texts are given, and it may refer to no file and no variable of the process. Plain data.
 */
export interface WorkspaceRestrictions {
  readonly delivery: AddressPolicy;
  /** Where people reach the workspace. */
  readonly externalUrl: string;
  readonly quotas: WorkspaceQuotas;
  /** How much there is already: it stays when a quota is lowered. Left out, that is nothing. */
  readonly present?: WorkspaceQuotas;
}

/** As much as there is. */
export const UNLIMITED_QUOTAS: WorkspaceQuotas = {
  pipelines: Number.POSITIVE_INFINITY,
  targets: Number.POSITIVE_INFINITY,
  notifications: Number.POSITIVE_INFINITY,
  inhibitions: Number.POSITIVE_INFINITY,
  logFolders: Number.POSITIVE_INFINITY,
  configurationCharacters: Number.POSITIVE_INFINITY,
};

/** Settings of headgate.yml that a workspace decides itself. */
const WORKSPACE_SETTINGS: Readonly<Record<string, 'all' | readonly string[]>> = {
  instance: ['name'],
  pipelines: 'all',
  delivery: ['retrySchedule', 'concurrency', 'operationalTarget'],
  retention: 'all',
};

/** Settings of a text that are not the workspace's to decide. */
export function foreignSettings(value: unknown): Path[] {
  if (!isMap(value)) return [];
  return Object.entries(value).flatMap(([section, content]): Path[] => {
    const own = Object.hasOwn(WORKSPACE_SETTINGS, section) ? WORKSPACE_SETTINGS[section] : undefined;
    if (own === 'all') return [];
    if (own === undefined) return [[section]];
    if (!isMap(content)) return [];
    return Object.keys(content).flatMap(key => (own.includes(key) ? [] : [[section, key]]));
  });
}

/** Settings with the terms in their places. */
export function withRestrictions(value: unknown, { delivery, externalUrl }: WorkspaceRestrictions): unknown {
  if (!isMap(value)) return value;
  return {
    ...value,
    instance: { ...section(value.instance), externalUrl },
    delivery: {
      ...section(value.delivery),
      privateAddresses: delivery.privateAddresses,
      allowedAddresses: [...delivery.allowedAddresses],
    },
  };
}

const section = (value: unknown): object => (isMap(value) ? value : {});

/** Settings of a target that use what is the operator's, so that a workspace may not have them. */
export const refusedUses = (
  target: Pick<ConfiguredTarget, 'processUses'> | undefined,
  restrictions: WorkspaceRestrictions | undefined,
): readonly ProcessUse[] => (target === undefined || restrictions === undefined ? [] : target.processUses);

/**
 * The target as it may run: one with settings that a workspace may not have, or references to what is the operator's, is
 * switched off, and says why.
 */
export function confined(
  target: ConfiguredTarget,
  restrictions: WorkspaceRestrictions | undefined,
  references: readonly ProcessUse[] = [],
): Target {
  const [use] = [...references, ...refusedUses(target, restrictions)];
  if (use === undefined) return target;
  const switchedOff = `${formatPath(use.path)}: ${use.message}`;
  return { ...target, switchedOff, send: async () => ({ kind: 'refused', reason: switchedOff }) };
}

/** Folders of logs that targets write in, each counted once. */
export const countLogFolders = (targets: readonly Target[]): number =>
  new Set(targets.flatMap(({ logFolders = [] }) => logFolders)).size;

/** Why there are too many of something; undefined while there are not. */
export function overQuota(
  terms: WorkspaceRestrictions | undefined,
  what: keyof WorkspaceQuotas,
  count: number,
): string | undefined {
  if (terms === undefined || count <= Math.max(terms.quotas[what], terms.present?.[what] ?? 0))
    return undefined;
  return `${count} ${COUNTED[what]} are more than the ${terms.quotas[what]} that a workspace may have (hosted.quotas.${what}); remove some, or ask the operator of this service for more`;
}
