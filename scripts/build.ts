import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

/** CommonJS libraries inside an ES module bundle ask for `require`. */
const REQUIRE_SHIM =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

const ENTRIES = [
  { file: 'config-worker.js', source: 'src/config/config-worker.ts', banner: REQUIRE_SHIM },
  { file: 'sqlite-worker.js', source: 'src/storage/sqlite-worker.ts', banner: REQUIRE_SHIM },
  { file: 'main.js', source: 'src/main.ts', banner: `#!/usr/bin/env node\n${REQUIRE_SHIM}` },
] as const;

/**
 * Bundles the server and the command line into `dist/main.js`, with the workers and the page beside it.
 * Each file is replaced at once, so that a process started meanwhile never meets half of one.
 */
export async function buildProduct(): Promise<void> {
  const { version } = JSON.parse(await readFile('package.json', 'utf8'));
  await mkdir('dist', { recursive: true });
  const stage = await mkdtemp('dist/.stage-');
  try {
    for (const { file, source, banner } of ENTRIES) {
      const outfile = join(stage, file);
      await build({
        entryPoints: [source],
        outfile,
        banner: { js: banner },
        bundle: true,
        platform: 'node',
        target: 'node20',
        format: 'esm',
        conditions: ['source'],
        external: ['better-sqlite3', '@node-rs/argon2'],
        define: { HEADGATE_VERSION: JSON.stringify(version) },
        legalComments: 'none',
        logLevel: 'warning',
      });
      await chmod(outfile, 0o755);
      await rename(outfile, join('dist', file));
    }
    await cp('src/api/page', 'dist/page', { recursive: true });
    await cp('openapi/openapi.json', 'dist/openapi.json', { force: true });
  } finally {
    await rm(stage, { recursive: true });
  }
}

if (process.argv[1] === import.meta.filename) await buildProduct();
