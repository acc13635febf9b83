import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADMIN_PASSWORD } from '../../test/acceptance/bin.ts';
import { noData } from '../../test/acceptance/files.ts';
import { type ApiServer, startApiServer } from '../../test/api/api-server.ts';
import { useBrowser } from '../../test/ui/browser.ts';

const run = promisify(execFile);
const CLIENT = join(import.meta.dirname, '..');
const ROOT = join(CLIENT, '..');
/** The compiler takes half a minute where others compute as well. */
const COMPILING_MS = 180_000;
const TSC = join(ROOT, 'node_modules/.bin/tsc');

const browser = useBrowser();
let server: ApiServer;
/** A project that has the package as it would be installed. */
let project: string;

beforeAll(async () => {
  server = await startApiServer({
    notifications: {
      targets: [{ id: 'log', type: 'notifications_log' }],
      notifications: [noData('app_silent', 'syslog:app', '1h', 'log')],
    },
  });
  project = mkdtempSync(join(tmpdir(), 'headgate-client-'));
  const installed = join(project, 'node_modules/@headgate/client');
  mkdirSync(installed, { recursive: true });
  cpSync(join(CLIENT, 'package.json'), join(installed, 'package.json'));
  await run(TSC, ['-p', CLIENT, '--outDir', join(installed, 'dist')]);
  mkdirSync(join(project, 'node_modules/@types'));
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(project, 'node_modules/@types/node'));
  writeFileSync(join(project, 'package.json'), '{"type": "module"}');
  const compilerOptions = { module: 'nodenext', target: 'es2023', strict: true, types: ['node'] };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
}, COMPILING_MS);

afterAll(async () => {
  await server.stop();
  rmSync(project, { recursive: true });
});

/** The blocks as one module: what they import, each once, then the rest. */
function moduleOf(parts: readonly string[]): string {
  const lines = parts.flatMap(part => part.split('\n'));
  const imports = new Set(lines.filter(line => line.startsWith('import ')));
  return [...imports, 'export {};', ...lines.filter(line => !line.startsWith('import '))].join('\n');
}

test(
  'what the README shows compiles against the package and runs against the product',
  async () => {
    const readme = readFileSync(join(CLIENT, 'README.md'), 'utf8');
    const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code);
    const [local = '', hosted = '', ...rest] = blocks;
    const shown = moduleOf([local.replace('http://127.0.0.1:9000', server.url), ...rest]);
    writeFileSync(join(project, 'shown.ts'), `${shown}\nconsole.log(items, totalCount, targets, behind);\n`);
    writeFileSync(join(project, 'hosted.ts'), hosted);
    await run(TSC, ['-p', project]);
    const { stdout } = await run(process.execPath, [join(project, 'shown.js')], {
      env: { HEADGATE_PASSWORD: ADMIN_PASSWORD },
    });
    expect(stdout).toContain("409 conflict target 'log' is in use by notification 'app_silent'");
    expect(stdout).toContain("type: 'notifications_log'");
  },
  COMPILING_MS,
);

test('in a browser it signs in and lists, without anything of Node', async () => {
  const { outputFiles } = await build({
    stdin: { contents: "export * from '@headgate/client'", resolveDir: project },
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'iife',
    globalName: 'headgate',
  });
  const { page } = await browser.open({ bypassCSP: true });
  await page.goto(server.url);
  await page.addScriptTag({ content: outputFiles[0]?.text ?? '' });
  const auth = JSON.stringify({ username: 'admin', password: ADMIN_PASSWORD });
  const ids = await page.evaluate(
    `headgate.createClient({ baseUrl: location.origin, auth: ${auth} })
      .targets.list().all().then(targets => targets.map(target => target.id))`,
  );
  expect(ids).toEqual(['log']);
});
