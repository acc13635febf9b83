import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

/** CommonJS libraries inside an ES module bundle ask for `require`. */
const REQUIRE_SHIM =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

const ENTRIES = [
  'src/config/config-worker.ts',
  'src/notifications/backtest/backtest-worker.ts',
  'src/storage/sqlite/sqlite-worker.ts',
  'src/main.ts',
];

/**
 * Bundles the server and the command line into `dist/main.js`, with the workers, the page, the document of the API and the schemas of the files beside it.
 * What a command does not need is in files of its own, so that asking a server loads no server. Each file is replaced
 * at once, so that a process started meanwhile never meets half of one.
 */
export async function buildProduct(): Promise<void> {
  const { version } = JSON.parse(await readFile('package.json', 'utf8'));
  await mkdir('dist', { recursive: true });
  const stage = await mkdtemp('dist/.stage-');
  try {
    await build({
      entryPoints: ENTRIES,
      outdir: stage,
      entryNames: '[name]',
      chunkNames: 'part-[hash]',
      splitting: true,
      banner: { js: REQUIRE_SHIM },
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
    await makeExecutable(join(stage, 'main.js'));
    await replace(stage);
    await cp('src/api/page', 'dist/page', { recursive: true });
    await cp('openapi/openapi.json', 'dist/openapi.json', { force: true });
    await cp('schemas', 'dist/schemas', { recursive: true });
  } finally {
    await rm(stage, { recursive: true });
  }
}

async function makeExecutable(path: string): Promise<void> {
  await writeFile(path, `#!/usr/bin/env node\n${await readFile(path, 'utf8')}`);
  await chmod(path, 0o755);
}

/** The parts before those who name them; parts of a former build last. */
async function replace(stage: string): Promise<void> {
  const made = await readdir(stage);
  const isPart = (name: string): boolean => name.startsWith('part-');
  for (const name of [...made.filter(isPart), ...made.filter(name => !isPart(name))])
    await rename(join(stage, name), join('dist', name));
  const present = await readdir('dist');
  for (const name of present.filter(name => isPart(name) && !made.includes(name)))
    await rm(join('dist', name), { force: true });
}

if (process.argv[1] === import.meta.filename) await buildProduct();
