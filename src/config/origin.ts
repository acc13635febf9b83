import type { Origin } from './issues.ts';
import type { Override } from './overrides.ts';
import { formatPath } from './problems.ts';
import type { Path, Places } from './yaml-places.ts';

interface FileOrigin {
  readonly file: string;
  readonly places: Places;
  /** Where in the file the value stands that paths are relative to. */
  readonly base: Path;
  /** By path relative to `base`. */
  readonly references?: ReadonlyMap<string, string>;
  readonly overrides?: readonly Override[];
}

/** Places of values that a file holds, but for those that flags or the environment set. */
export function originIn({ file, places, base, references, overrides = [] }: FileOrigin): Origin {
  const overrideAt = (path: Path) =>
    overrides.find(override => formatPath(override.path) === formatPath(path));
  return {
    place(path) {
      const override = overrideAt(path);
      if (override !== undefined) return { file: override.source, path: override.name, line: 0, column: 0 };
      const full = [...base, ...path];
      return { file, path: formatPath(full), ...places.of(full) };
    },
    keyPlace(path) {
      const full = [...base, ...path];
      return { file, path: formatPath(full), ...places.ofKey(full) };
    },
    reference: path => references?.get(formatPath(path)),
  };
}
