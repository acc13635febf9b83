import type { Notification } from '../notifications/notification.ts';
import { isMeantBy } from '../notifications/questions.ts';
import { isExact } from '../notifications/subjects.ts';
import type { PipelineSettings } from '../pipelines/settings.ts';
import type { Origin } from './issues.ts';
import type { Item } from './items.ts';
import type { ConfigProblem } from './problems.ts';
import { quote } from './quote.ts';
import { didYouMean } from './suggest.ts';

/** Warns of a notification on pipelines that means none: nothing is known of it, so nothing is told. */
export function unknownPipeline(
  { rule }: Notification,
  item: Item,
  pipelines: readonly PipelineSettings[],
  origin: Origin,
): ConfigProblem[] {
  if (rule.source !== 'pipeline' || pipelines.some(pipeline => isMeantBy(rule.conf, pipeline))) return [];
  const { name, __workerGroup: group } = rule.conf;
  const where = group === undefined ? '' : ` in the group ${quote(group)}`;
  const ids = pipelines.map(({ id }) => id);
  const message = isExact(rule.conf)
    ? `no pipeline${where} has the id ${quote(name)}${didYouMean(name, ids)}`
    : `no pipeline${where} has an id like ${quote(name)}; nothing is told until one has`;
  return [{ ...origin.place([...item.path, 'conf', 'name']), message }];
}
