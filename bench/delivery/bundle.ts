import { basename, join } from 'node:path';
import { build } from 'esbuild';

/** Makes a plain script of the source of a process: what compiles on the fly would count as its memory. */
export async function bundle(source: string, folder: string): Promise<string> {
  const outfile = join(folder, basename(source).replace(/\.ts$/, '.mjs'));
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  return outfile;
}
