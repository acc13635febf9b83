import { readFile } from 'node:fs/promises';
import { text as textFrom } from 'node:stream/consumers';
import { Option } from 'commander';
import { AppError, reasonOf } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';

/** What a write sends. */
export const fileOption = (): Option =>
  new Option('--file <path>', 'JSON of the object, - for standard input').makeOptionMandatory();

/** Whether it is what the server expects the server says. Throws `invalid-request`, naming the file. */
export async function readBody<Body extends object>(path: string): Promise<Body> {
  const where = path === '-' ? 'standard input' : path;
  const text = path === '-' ? await textFrom(process.stdin) : await textOf(path);
  assertObject(where, text);
  const body: Body = JSON.parse(text);
  return body;
}

function assertObject(where: string, text: string): void {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new AppError('invalid-request', `${where}: ${reasonOf(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new AppError('invalid-request', `${where} must hold a JSON object`);
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new AppError('not-found', `cannot read '${path}': ${reasonOf(error)}`);
  }
}
