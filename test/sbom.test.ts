import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as z from 'zod';

const sbomSchema = z.object({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(z.object({ name: z.string(), version: z.string() })),
});
const make = (): string =>
  execFileSync('npx', ['tsx', 'scripts/sbom.ts'], { encoding: 'utf8', maxBuffer: 2 ** 26 });

it('names every dependency that ships with its version, none of development, and is the same each time', () => {
  const text = make();
  const { components } = sbomSchema.parse(JSON.parse(text));
  const known = new Map(components.map(({ name, version }) => [name, version]));
  const versions = z.record(z.string(), z.string());
  const { dependencies } = z
    .object({ dependencies: versions })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')));
  for (const [name, version] of Object.entries(dependencies))
    expect([name, known.get(name)]).toEqual([name, version]);
  expect(['vitest', 'typescript', 'headgate'].filter(name => known.has(name))).toEqual([]);
  expect(make()).toBe(text);
});
