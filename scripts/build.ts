import { chmod, rm } from 'node:fs/promises';
import { type BuildOptions, build } from 'esbuild';

/** CommonJS libraries inside an ES module bundle ask for `require`. */
const REQUIRE_SHIM =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

/** Bundles the server and the command line into `dist/main.js`, with the storage worker beside it. */
export async function buildProduct(): Promise<void> {
  const options: BuildOptions = {
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    outdir: 'dist',
    external: ['better-sqlite3', '@node-rs/argon2'],
    sourcemap: false,
    legalComments: 'none',
    logLevel: 'warning',
  };
  await rm('dist', { recursive: true, force: true });
  await Promise.all([
    build({
      ...options,
      entryPoints: { main: 'src/main.ts' },
      banner: { js: `#!/usr/bin/env node\n${REQUIRE_SHIM}` },
    }),
    build({
      ...options,
      entryPoints: { 'sqlite-worker': 'src/storage/sqlite-worker.ts' },
      banner: { js: REQUIRE_SHIM },
    }),
  ]);
  await chmod('dist/main.js', 0o755);
}

if (process.argv[1] === import.meta.filename) await buildProduct();
