import { NOTIFICATIONS_FILE } from '../config/configuration.ts';
import { type ConfigProblem, quote } from '../config/problems.ts';
import { readNotification } from '../config/read/items.ts';
import { fileOrigin } from '../config/schema-problems.ts';
import { readConfigDocument, readItems } from '../config/yaml/document.ts';
import type { Notification } from '../notifications/notification.ts';
import { createComponentMatcher, isExact, isInGroup } from '../notifications/subjects.ts';
import type { Component, PipelineState } from '../pipelines/components/component.ts';
import type { WorkspaceContext } from './context.ts';

/** Names that are compared with patterns in one call; what is left after so many is not warned of. */
const MOST_COMPARED = 200_000;

/**
 * Warns of the pattern of a notification that no input or output fits that was seen: nothing is known of what it means, so
 * that it never alerts. Undefined as well while a pipeline that may have some was not read yet.
 */
export function unmatchedPatternsOf({
  components,
}: Pick<WorkspaceContext, 'components'>): (notification: Notification) => string | undefined {
  const pipelines = components.pipelines();
  const all = components.all();
  let left = MOST_COMPARED;
  return ({ disabled, rule: { components: selector } }) => {
    if (disabled || selector === undefined || isExact(selector)) return undefined;
    left -= all.length;
    return left < 0 ? undefined : unmatchedPattern(pipelines, all, selector);
  };
}

function unmatchedPattern(
  pipelines: readonly PipelineState[],
  all: readonly Component[],
  selector: NonNullable<Notification['rule']['components']>,
): string | undefined {
  const isAwaited = ({ mode, state }: PipelineState): boolean => mode === 'pull' && state === 'waiting';
  if (pipelines.some(one => isInGroup(selector, one) && isAwaited(one))) return undefined;
  if (all.some(createComponentMatcher(selector, selector.kind))) return undefined;
  const kind = selector.kind === 'either' ? 'input or output' : selector.kind;
  const { name, __workerGroup: group } = selector;
  const where = group === undefined ? '' : ` in the group ${quote(group)}`;
  return `no ${kind} that was seen${where} has a name like ${quote(name)}; nothing is sent until one has`;
}

/** Larger texts are not read again for the places of warnings: nobody should wait for that. */
const LARGEST_CHARACTERS = 16 * 1024;

/** The same as warnings about the text of notifications.yml, at their places; none of a text that is larger than 16 Ki. */
export function unmatchedPatterns(
  sources: Pick<WorkspaceContext, 'components'>,
  text: string,
): ConfigProblem[] {
  if (text.length > LARGEST_CHARACTERS) return [];
  const document = readConfigDocument('', NOTIFICATIONS_FILE, text);
  const warningOf = unmatchedPatternsOf(sources);
  return readItems(document, 'notifications').items.flatMap(item => {
    const { notification } = readNotification(document, item);
    const message = notification && warningOf(notification);
    if (message === undefined) return [];
    const { place } = fileOrigin({ ...document, base: item.path });
    return [{ ...place(['conf', 'name']), message }];
  });
}
