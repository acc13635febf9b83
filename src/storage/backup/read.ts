import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { createGunzip } from 'node:zlib';
import { AppError, codeOf, reasonOf } from '../../lib/errors.ts';
import { type BackupHeader, decodeRow, FORMAT, headerSchema, lineSchema, type TableRow } from './format.ts';

export type BackupPart =
  | { readonly kind: 'header'; readonly header: BackupHeader }
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
    yield* readParts(file);
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

async function* readParts(file: string): AsyncGenerator<BackupPart> {
  const hash = createHash('sha256');
  const counts: Record<string, number> = {};
  let header: BackupHeader | undefined;
  let table: string | undefined;
  let isOver = false;
  for await (const bytes of splitLines(gunzipped(file))) {
    if (isOver) throw new Error('something follows its end');
    const line: unknown = JSON.parse(bytes.toString('utf8'));
    if (header === undefined) {
      header = parseHeader(file, line);
      yield { kind: 'header', header };
    } else {
      const known = lineSchema.parse(line);
      if (Array.isArray(known)) {
        if (table === undefined) throw new Error('a row stands before its table');
        counts[table] = (counts[table] ?? 0) + 1;
        yield { kind: 'row', row: decodeRow(known) };
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

async function* gunzipped(file: string): AsyncGenerator<Buffer> {
  const source = createReadStream(file);
  const gunzip = createGunzip();
  source.on('error', error => gunzip.destroy(error));
  for await (const chunk of source.pipe(gunzip)) if (chunk instanceof Buffer) yield chunk;
}

function parseHeader(file: string, line: unknown): BackupHeader {
  const { success, data } = headerSchema.safeParse(line);
  if (!success) throw new Error('it does not begin like one');
  if (data.format > FORMAT)
    throw new AppError(
      'conflict',
      `'${file}' was written by headgate ${data.version} in a form that this version does not know; restore it with that version or a newer one`,
    );
  return data;
}

/** Longest line that is read: the largest row, with its files in it, is far below. */
const MAX_LINE_BYTES = 256 * 2 ** 20;
const LINE_BREAK = 10;

/** Splits bytes into lines, each with its line break; throws a `RangeError` for one without end. */
async function* splitLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let started: Buffer[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_BREAK); end >= 0; end = chunk.indexOf(LINE_BREAK, from)) {
      const rest = chunk.subarray(from, end + 1);
      yield started.length === 0 ? rest : Buffer.concat([...started, rest]);
      started = [];
      length = 0;
      from = end + 1;
    }
    if (from === chunk.length) continue;
    started.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > MAX_LINE_BYTES) throw new RangeError(`a line is over ${MAX_LINE_BYTES} bytes`);
  }
  if (started.length > 0) yield Buffer.concat(started);
}
