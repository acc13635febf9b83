import type { Section } from '../../config/change.ts';
import type { Configuration } from '../../config/load.ts';
import type { PlainMap } from '../../config/plain.ts';
import type { Schema } from '../../config/schema-walk.ts';

/** An item of the configuration before a write. */
export interface Present {
  /** As its file has it; undefined when no file does. */
  readonly inFile: PlainMap | undefined;
  /** As it counts, every default said, secrets masked. */
  readonly inForce: PlainMap;
}

/** A kind of item that files hold and the API writes. */
export interface Noun {
  readonly name: 'notification' | 'target' | 'input' | 'output';
  readonly section: Exclude<Section, 'settings'>;
  /** Keys that stay what they are, once the item exists. */
  readonly fixed: readonly string[];
  /** Whether its items are in groups. */
  readonly grouped: boolean;
  /** What names of an item's stored secrets begin with; left out where items hold no secrets. */
  readonly secretOwner?: (id: string) => string;
  find(now: Configuration, id: string): Present | undefined;
  /** What an item of such content must look like; undefined when that cannot be told. */
  schema(item: PlainMap): Schema | undefined;
}
