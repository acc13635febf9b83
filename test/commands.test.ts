import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const BUILT = join(import.meta.dirname, '../dist');

const read = (file: string): string => readFileSync(join(BUILT, file), 'utf8');

const named = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].flatMap(([, file]) => (file === undefined ? [] : [file]));

/** The files that a file of the build loads whatever is done, itself included. */
function loadedWith(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  for (const next of named(read(file), /^(?:import|\} from|export .* from|import .* from) ?"\.\/([^"]+)"/gm))
    loadedWith(next, loaded);
  return loaded;
}

it('parses no server, no schema and no store to say what commands there are', () => {
  const commands = named(read('main.js'), /import\("\.\/([^"]+)"\)/g);
  expect(commands.length).toBeGreaterThan(25);
  const loaded = loadedWith('main.js');
  for (const command of commands) loadedWith(command, loaded);
  const texts = [...loaded].map(read);
  const libraries = texts.flatMap(text => named(text, /^\/\/ .*node_modules\/((?:@[^/]+\/)?[^/]+)/gm));
  expect([...new Set(libraries)].sort()).toEqual(['commander', 'picocolors']);
  expect(texts.join('').length).toBeLessThan(500_000);
});
