import { PREFIX, SERIES } from './world-protocol.ts';

/** All ten series of a component are of use. */
export const rules = SERIES.map(name => ({
  match: `^${PREFIX}${name}$`,
  kind: 'input',
  id: 'component_id',
  type: 'component_type',
  metric: name.replace(/_total$/, ''),
}));
