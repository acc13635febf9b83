import type { Configuration } from '../../config/load.ts';
import { childOf } from '../../config/schema-walk.ts';
import { AppError, type Problem } from '../../lib/errors.ts';

/** Throws `conflict`, naming everything that sends to the target. */
export function assertUnused(now: Configuration, id: string): void {
  const users = usersOf(now, id);
  if (users.length === 0) return;
  const problems = users.slice(0, MOST_NAMED).map(path => ({ path, message: `uses target '${id}'` }));
  const names = problems.map(({ path }) => path).join(', ');
  const more = users.length > MOST_NAMED ? ` and ${users.length - MOST_NAMED} more` : '';
  throw new AppError('conflict', `target '${id}' is in use by ${names}${more}; take it out of them first`, {
    problems,
  });
}

const MOST_NAMED = 20;

function usersOf({ notifications, settings: own, targets }: Configuration, id: string): Problem['path'][] {
  const names = (settings: object, keys: readonly string[]): boolean =>
    keys.some(key => childOf(settings, key) === id);
  return [
    ...(own.delivery.operationalTarget === id ? ['delivery.operationalTarget'] : []),
    ...notifications
      .filter(
        ({ settings }) =>
          settings.targets.includes(id) || settings.targetConfigs.some(config => config.id === id),
      )
      .map(notification => `notification '${notification.id}'`),
    ...targets
      .filter(
        ({ settings }) =>
          settings.id !== id &&
          (names(settings, ['fallback', 'defaultId']) || outputsOf(settings).includes(id)),
      )
      .map(({ settings }) => `target '${settings.id}' (${settings.type})`),
  ];
}

/** Where a router's routes lead. */
function outputsOf(settings: object): unknown[] {
  const routes = childOf(settings, 'routes');
  return Array.isArray(routes) ? routes.map(route => childOf(route, 'output')) : [];
}
