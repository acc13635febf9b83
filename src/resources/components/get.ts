import * as z from 'zod';
import { notFound } from '../../lib/errors.ts';
import type { ComponentKind } from '../../pipelines/component.ts';
import { defineVerb } from '../verb.ts';
import { type DescribedComponent, describer } from './described.ts';
import { findComponent, type Sight, sightOf } from './known.ts';

export function describedOf(
  sight: Sight,
  kind: ComponentKind,
  id: string,
  group?: string,
): DescribedComponent {
  const known = findComponent(sight, kind, id);
  if (known === undefined || (group !== undefined && known.group !== group)) throw notFound(kind, id);
  return describer(sight)(known);
}

function getComponent(kind: ComponentKind) {
  return defineVerb({
    permission: `read:${kind}s`,
    input: z.object({ id: z.string().max(512) }),
    run: ({ house, group }, { id }) => describedOf(sightOf(house), kind, id, group),
  });
}

export const getInput = getComponent('input');
export const getOutput = getComponent('output');
