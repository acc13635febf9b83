import { plainCopy } from '../../config/plain.ts';
import { findTargetType } from '../../targets/index.ts';
import type { Noun } from '../config/noun.ts';

export const targetNoun: Noun = {
  name: 'target',
  section: 'targets',
  fixed: ['id', 'type'],
  grouped: false,
  secretOwner: id => `target_${id}`,
  find(now, id) {
    const found = now.targets.find(target => target.settings.id === id);
    return found && { inFile: now.raw.targets.get(id), inForce: plainCopy(found.settings) };
  },
  schema: ({ type }) => (typeof type === 'string' ? findTargetType(type)?.schema : undefined),
};
