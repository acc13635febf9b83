import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { healthOperation } from '../src/api/v1/health.ts';
import { serveCommand } from '../src/cli/commands/serve.ts';
import { EXIT } from '../src/cli/output/output.ts';
import { unknownVariables } from '../src/config/overrides.ts';
import { settingsSchema } from '../src/config/settings.ts';

const ROOT = join(import.meta.dirname, '..');
/** Lanes let attempts under way end for so long when the process is told to stop. */
const GRACE_SECONDS = 10;

const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const lines = (path: string): string[] =>
  text(path)
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter(line => line.trim() !== '' && !line.startsWith('#'));

const dockerfile = lines('deploy/Dockerfile').map(line => {
  const [, word = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line.trim()) ?? [];
  return { word, rest };
});
const all = (word: string): string[] => dockerfile.filter(one => one.word === word).map(one => one.rest);

/** Names and values of a file of variables. */
const variables = (path: string): Record<string, string> =>
  Object.fromEntries(lines(path).map(line => line.split(/=(.*)/s).slice(0, 2)));

it('builds the image from pinned bases and from what is there and sent to the engine', () => {
  expect(all('FROM')).toEqual([
    expect.stringMatching(/^node:24\.\d+-bookworm AS build$/),
    expect.stringMatching(/^node:24\.\d+-bookworm-slim$/),
  ]);
  const sent = lines('.dockerignore')
    .filter(line => line.startsWith('!'))
    .map(line => line.slice(1));
  const sources = all('COPY')
    .filter(copy => !copy.startsWith('--from'))
    .flatMap(copy => copy.split(' ').slice(0, -1));
  expect(sources).toContain('src');
  for (const source of sources) {
    expect(existsSync(join(ROOT, source)), source).toBe(true);
    expect(
      sent.some(path => source === path || source.startsWith(`${path}/`)),
      source,
    ).toBe(true);
  }
  const scripts = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(text('package.json'))).scripts;
  for (const run of all('RUN'))
    for (const [, script = ''] of run.matchAll(/npm run (\S+)/g))
      expect(Object.keys(scripts)).toContain(script);
});

it('runs the image as a user of its own, and asks it for its health as the API has it', () => {
  expect(all('USER')).toEqual(['headgate']);
  expect(dockerfile.findIndex(one => one.word === 'USER')).toBeLessThan(
    dockerfile.findIndex(one => one.word === 'ENTRYPOINT'),
  );
  const [check = ''] = all('HEALTHCHECK');
  expect(check).toContain(`http://127.0.0.1:9000/api/v1${healthOperation.path}`);
  expect(all('EXPOSE')).toEqual([String(settingsSchema.parse({}).api.port)]);
  const environment = Object.fromEntries(
    all('ENV').flatMap(line =>
      [...line.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
    ),
  );
  expect(environment).toMatchObject({ HEADGATE_CONFIG: '/etc/headgate', HEADGATE_DATA: '/var/lib/headgate' });
  expect(unknownVariables(settingsSchema, environment)).toEqual([]);
  for (const folder of ['/etc/headgate', '/var/lib/headgate']) expect(all('VOLUME')[0]).toContain(folder);
});

const service = z.looseObject({
  env_file: z.string(),
  volumes: z.array(z.string()),
  build: z.object({ context: z.string(), dockerfile: z.string() }).optional(),
  image: z.string().optional(),
  healthcheck: z.unknown().optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.literal('service_healthy') })).default({}),
  stop_grace_period: z.string().optional(),
  ports: z.array(z.string()).default([]),
  read_only: z.boolean().default(false),
  hostname: z.string().optional(),
});

it('composes Headgate with a database that it waits for', () => {
  const compose = z
    .object({ services: z.record(z.string(), service), volumes: z.record(z.string(), z.unknown()) })
    .parse(parse(text('deploy/compose.yaml')));
  const { headgate, postgres } = compose.services;
  // So that other services reach it by this name without a setting.
  expect(headgate?.hostname).toBe('headgate');
  expect(
    headgate?.build && existsSync(join(ROOT, 'deploy', headgate.build.context, headgate.build.dockerfile)),
  ).toBe(true);
  expect(postgres?.image).toMatch(/^postgres:\d+\.\d+-bookworm$/);
  expect(headgate?.read_only).toBe(true);
  expect(headgate?.ports).toEqual(['127.0.0.1:9000:9000']);
  expect(Number.parseInt(headgate?.stop_grace_period ?? '', 10)).toBeGreaterThan(GRACE_SECONDS);
  for (const { volumes, depends_on: needed } of Object.values(compose.services)) {
    for (const volume of volumes) expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
    for (const name of Object.keys(needed)) expect(compose.services[name]?.healthcheck).toBeDefined();
  }
  const example = variables('deploy/headgate.env.example');
  expect(Object.keys(example)).toContain('POSTGRES_PASSWORD');
  expect(unknownVariables(settingsSchema, example)).toEqual([]);
  expect(new URL(example.HEADGATE_STORAGE_URL ?? '')).toMatchObject({
    hostname: 'postgres',
    pathname: '/headgate',
  });
  expect(lines('.gitignore')).toContain('deploy/headgate.env');
});

it('lets systemd start, reload and stop it as the product wants to be', () => {
  const unit = Object.fromEntries(
    lines('deploy/headgate.service')
      .filter(line => line.includes('='))
      .map(line => line.split(/=(.*)/s).slice(0, 2)),
  );
  const [, command = '', flags = ''] = /main\.js (\w+) (.*)$/.exec(unit.ExecStart ?? '') ?? [];
  expect(command).toBe('serve');
  const known = serveCommand(() => {}).options.map(option => option.long);
  for (const [flag] of flags.matchAll(/--\w+/g)) expect(known).toContain(flag);
  expect(flags).toContain(`/etc/${unit.ConfigurationDirectory}`);
  expect(flags).toContain(`/var/lib/${unit.StateDirectory}`);
  expect(unit.ExecReload).toBe('/bin/kill -HUP $MAINPID');
  expect(Number(unit.TimeoutStopSec)).toBeGreaterThan(GRACE_SECONDS);
  expect(unit.RestartPreventExitStatus).toBe(`${EXIT.usage} ${EXIT.invalidConfiguration}`);
  expect(unit).toMatchObject({ User: 'headgate', ProtectSystem: 'strict', NoNewPrivileges: 'yes' });
});
