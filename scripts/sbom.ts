import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

/** Prints what the product ships with as CycloneDX 1.5, from the lock file alone: the same file gives the same text. */

const entrySchema = z.object({
  name: z.string().optional(),
  version: z.string().optional(),
  license: z.string().optional(),
  integrity: z.string().optional(),
  dev: z.boolean().optional(),
  link: z.boolean().optional(),
});
const lockSchema = z.object({
  name: z.string(),
  version: z.string(),
  packages: z.record(z.string(), entrySchema),
});

const FOLDER = 'node_modules/';

/** npm writes digests as base64, CycloneDX as hexadecimal digits. */
function hashesOf(integrity: string | undefined) {
  const [, algorithm, digest] = /^(sha\d+)-(\S+)$/.exec(integrity ?? '') ?? [];
  if (algorithm === undefined || digest === undefined) return {};
  const content = Buffer.from(digest, 'base64').toString('hex');
  return { hashes: [{ alg: algorithm.toUpperCase().replace('SHA', 'SHA-'), content }] };
}

const lock = lockSchema.parse(
  JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package-lock.json'), 'utf8')),
);
const components = Object.entries(lock.packages).flatMap(([path, entry]) => {
  const { version = '', license, integrity, dev, link } = entry;
  if (!path.includes(FOLDER) || dev === true || link === true) return [];
  const name = entry.name ?? path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return [
    {
      type: 'library',
      'bom-ref': path,
      name,
      version,
      purl,
      ...(license !== undefined && { licenses: [{ expression: license }] }),
      ...hashesOf(integrity),
    },
  ];
});
const sbom = {
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: {
    component: { type: 'application', 'bom-ref': lock.name, name: lock.name, version: lock.version },
  },
  components,
};
process.stdout.write(`${JSON.stringify(sbom, null, 2)}\n`);
