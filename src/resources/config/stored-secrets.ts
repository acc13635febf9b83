import type { NewSecret } from '../../config/change.ts';
import type { PlainMap } from '../../config/plain.ts';
import type { Schema } from '../../config/schema-walk.ts';
import type { Call } from '../verb.ts';

interface Written {
  readonly schema: Schema;
  readonly id: string;
  readonly item: PlainMap;
  readonly inFile: PlainMap | undefined;
}

export function withStoredSecrets(
  _call: Call,
  { item }: Written,
): { readonly value: PlainMap; readonly secrets: readonly NewSecret[] } {
  return { value: item, secrets: [] };
}
