import type { SystemFacts } from '../../resources/settings/info.ts';

/** `/system/info` under the family's names. */
export const wireInfo = ({ instance, uptimeSeconds, ...facts }: SystemFacts): object => ({
  ...facts,
  BUILD: { VERSION: facts.version },
  uptime: uptimeSeconds,
  distMode: 'single',
  headgate: { instance },
});
