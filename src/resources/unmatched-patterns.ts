import { NOTIFICATIONS_FILE } from '../config/configuration.ts';
import { type ConfigProblem, quote } from '../config/problems.ts';
import { readNotification } from '../config/read/items.ts';
import { fileOrigin } from '../config/schema-problems.ts';
import { readConfigDocument, readItems } from '../config/yaml/document.ts';
import type { Notification } from '../notifications/notification.ts';
import { createComponentMatcher, isExact, isInGroup } from '../notifications/subjects.ts';
import type { PipelineState } from '../pipelines/components/component.ts';
import type { WorkspaceContext } from './context.ts';

/**
 * Warns of the pattern of a notification that no input or output fits that was seen: nothing is known of what it means, so
 * that it never alerts. Undefined as well while a pipeline that may have some was not read yet.
 */
export function unmatchedPattern(
  { components }: Pick<WorkspaceContext, 'components'>,
  { disabled, rule: { components: selector } }: Notification,
): string | undefined {
  if (disabled || selector === undefined || isExact(selector)) return undefined;
  const isAwaited = ({ mode, state }: PipelineState): boolean => mode === 'pull' && state === 'waiting';
  if (components.pipelines().some(one => isInGroup(selector, one) && isAwaited(one))) return undefined;
  if (components.all().some(createComponentMatcher(selector, selector.kind))) return undefined;
  const kind = selector.kind === 'either' ? 'input or output' : selector.kind;
  const { name, __workerGroup: group } = selector;
  const where = group === undefined ? '' : ` in the group ${quote(group)}`;
  return `no ${kind} that was seen${where} has a name like ${quote(name)}; nothing is sent until one has`;
}

/** Larger texts are not read again for the places of warnings: nobody should wait for that. */
const LARGEST_CHARACTERS = 64 * 1024;

/** The same as warnings about the text of notifications.yml, at their places; none of a text that is larger than 64 Ki. */
export function unmatchedPatterns(
  sources: Pick<WorkspaceContext, 'components'>,
  text: string,
): ConfigProblem[] {
  if (text.length > LARGEST_CHARACTERS) return [];
  const document = readConfigDocument('', NOTIFICATIONS_FILE, text);
  return readItems(document, 'notifications').items.flatMap(item => {
    const { notification } = readNotification(document, item);
    const message = notification && unmatchedPattern(sources, notification);
    if (message === undefined) return [];
    const { place } = fileOrigin({ ...document, base: item.path });
    return [{ ...place(['conf', 'name']), message }];
  });
}
