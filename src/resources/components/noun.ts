import { declaredSchema } from '../../config/read-declared.ts';
import type { ComponentKind, Components } from '../../pipelines/component.ts';
import type { Noun } from '../config/noun.ts';
import { findComponent, settingsOf } from './known.ts';

/** One that was only seen is there as well: the first change of it declares it. */
export const componentNoun = (kind: ComponentKind, components: Components): Noun => ({
  name: kind,
  section: `${kind}s`,
  fixed: ['id', 'type'],
  grouped: true,
  find(now, id) {
    const known = findComponent({ components, now }, kind, id);
    return known && { inFile: known.declared?.value, inForce: settingsOf(known) };
  },
  schema: () => declaredSchema,
});
