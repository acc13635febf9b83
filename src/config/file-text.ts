import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { codeOf, reasonOf } from '../lib/errors.ts';

/** A file of this size holds some 30,000 notifications; a larger one is a mistake. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** Editors of some systems put it before a text. */
const BYTE_ORDER_MARK = '\uFEFF';

/** The text without the byte order mark it may begin with. */
export const withoutByteOrderMark = (text: string): string =>
  text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;

export type FileText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing' }
  /** `line` is where the trouble is, 1 when it is with the whole file. */
  | { readonly kind: 'unreadable'; readonly line: number; readonly message: string };

const unreadable = (message: string, line = 1): FileText => ({ kind: 'unreadable', line, message });

/** Reads a UTF-8 file of at most `MAX_FILE_BYTES`. Never throws; a device or a pipe is refused, not waited for. */
export function readFileText(path: string): FileText {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return readOpen(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { kind: 'missing' };
    return unreadable(`cannot be read: ${describeReadError(error)}`);
  }
}

/** A text that never was a file, under the same limit. */
export function asFileText(text: string): FileText {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_FILE_BYTES) return tooLarge(bytes);
  return { kind: 'text', text };
}

function readOpen(file: number): FileText {
  const stat = fstatSync(file);
  if (stat.isDirectory()) return unreadable('is a folder; put a file in its place, or remove it');
  if (!stat.isFile()) return unreadable('is not a regular file');
  if (stat.size > MAX_FILE_BYTES) return tooLarge(stat.size);
  const bytes = readAll(file, stat.size);
  if (bytes === undefined) return tooLarge(MAX_FILE_BYTES + 1);
  if (!isUtf8(bytes)) return unreadable('is not UTF-8 text; save it with the encoding UTF-8', badLine(bytes));
  return { kind: 'text', text: bytes.toString('utf8') };
}

/** The file may grow while it is read: what is over the limit is noticed here. */
function readAll(file: number, expected: number): Buffer | undefined {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(Math.max(4096, expected + 1 - total));
    const count = readSync(file, chunk, 0, chunk.length, null);
    if (count === 0) return Buffer.concat(chunks, total);
    chunks.push(chunk.subarray(0, count));
    total += count;
    if (total > MAX_FILE_BYTES) return undefined;
  }
}

function tooLarge(bytes: number): FileText {
  const mebibytes = (bytes / 1024 / 1024).toFixed(1);
  return unreadable(`is too large: ${mebibytes} MiB, at most ${MAX_FILE_BYTES / 1024 / 1024} MiB are read`);
}

function badLine(bytes: Buffer): number {
  let line = 1;
  for (let start = 0; start < bytes.length; line++) {
    const end = bytes.indexOf(10, start);
    const stop = end === -1 ? bytes.length : end;
    if (!isUtf8(bytes.subarray(start, stop))) return line;
    start = stop + 1;
  }
  return 1;
}

/** The failure in plain words, with a remedy where there is one. */
export function describeReadError(error: unknown): string {
  switch (codeOf(error)) {
    case 'EACCES':
    case 'EPERM':
      return 'permission denied; give the user that runs Headgate the right to read it';
    case 'ENOTDIR':
      return 'a part of its path is not a folder';
    case 'ELOOP':
      return 'its symbolic links form a cycle';
    case 'ENOENT':
      return 'it does not exist';
    default:
      return reasonOf(error);
  }
}
