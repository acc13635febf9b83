import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { createGunzip } from 'node:zlib';
import { AppError, codeOf, reasonOf } from '../../lib/errors.ts';
import { FORMAT, type Header, headerSchema, lineSchema, read, type TableRow } from './format.ts';
import { linesIn } from './lines.ts';

export type BackupPart =
  | { readonly kind: 'header'; readonly header: Header }
  | { readonly kind: 'table'; readonly table: string; readonly columns: readonly string[] }
  | { readonly kind: 'row'; readonly row: TableRow }
  | { readonly kind: 'keyRing'; readonly text: string | null }
  /** Only after all before was found whole. */
  | { readonly kind: 'end'; readonly rows: Readonly<Record<string, number>> };

/**
 * Reads a backup part by part. Throws `not-found` for a file that is not there, `invalid-request` for one that is no
 * backup or is cut off or changed, at the latest in place of the end, and `conflict` for one of a newer form.
 */
export async function* readBackup(file: string): AsyncGenerator<BackupPart> {
  try {
    yield* parts(file);
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (codeOf(error) === 'ENOENT') throw new AppError('not-found', `there is no file '${file}'`);
    if (/^E[A-Z]+$/.test(codeOf(error)))
      throw new AppError('unavailable', `'${file}' cannot be read: ${codeOf(error)}`, { cause: error });
    throw damaged(file, reasonOf(error));
  }
}

const damaged = (file: string, why: string): AppError =>
  new AppError(
    'invalid-request',
    `'${file}' is no whole backup (${why}); nothing was restored, use another one`,
  );

async function* parts(file: string): AsyncGenerator<BackupPart> {
  const hash = createHash('sha256');
  const counts: Record<string, number> = {};
  let header: Header | undefined;
  let table: string | undefined;
  let isOver = false;
  for await (const bytes of linesIn(unzipped(file))) {
    if (isOver) throw new Error('something follows its end');
    const line: unknown = JSON.parse(bytes.toString('utf8'));
    if (header === undefined) {
      header = headerOf(file, line);
      yield { kind: 'header', header };
    } else {
      const known = lineSchema.parse(line);
      if (Array.isArray(known)) {
        if (table === undefined) throw new Error('a row stands before its table');
        counts[table] = (counts[table] ?? 0) + 1;
        yield { kind: 'row', row: read(known) };
      } else if ('table' in known) {
        table = known.table;
        counts[table] = 0;
        yield { kind: 'table', table, columns: known.columns };
      } else if ('keyRing' in known) yield { kind: 'keyRing', text: known.keyRing };
      else {
        if (known.sha256 !== hash.digest('hex')) throw new Error('its checksum is another one');
        if (!isDeepStrictEqual(known.rows, counts)) throw new Error('rows are missing');
        isOver = true;
        yield { kind: 'end', rows: known.rows };
      }
    }
    if (!isOver) hash.update(bytes);
  }
  if (!isOver) throw new Error('its end is missing');
}

async function* unzipped(file: string): AsyncGenerator<Buffer> {
  const source = createReadStream(file);
  const gunzip = createGunzip();
  source.on('error', error => gunzip.destroy(error));
  for await (const chunk of source.pipe(gunzip)) if (chunk instanceof Buffer) yield chunk;
}

function headerOf(file: string, line: unknown): Header {
  const { success, data } = headerSchema.safeParse(line);
  if (!success) throw new Error('it does not begin like one');
  if (data.format > FORMAT)
    throw new AppError(
      'conflict',
      `'${file}' was written by headgate ${data.version} in a form that this version does not know; restore it with that version or a newer one`,
    );
  return data;
}
