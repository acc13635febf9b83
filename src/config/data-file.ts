import { resolve } from 'node:path';
import { reasonOf } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';
import type { DataFile } from '../pipelines/operator-files.ts';
import { readFileText, withoutMark } from './text.ts';
import { readYaml } from './yaml.ts';

/** Lists that programs write are read on the thread that does everything else. */
const MOST_BYTES = 2 * 1024 * 1024;

/** Reads a file that belongs to nobody's settings: JSON where its name says so, else YAML. Never throws. */
export function readDataFile(path: string, folder: string): DataFile {
  const file = readFileText(resolve(folder, path));
  if (file.kind === 'missing') return { error: 'there is no such file' };
  if (file.kind === 'unreadable') return { error: file.message };
  if (Buffer.byteLength(file.text) > MOST_BYTES)
    return { error: `is over the ${MOST_BYTES} bytes that are read of it` };
  const text = withoutMark(file.text);
  return path.toLowerCase().endsWith('.json') ? readJsonText(text) : readYamlText(text);
}

function readJsonText(text: string): DataFile {
  if (text.trim() === '') return { value: undefined };
  try {
    return { value: parseJson(text) };
  } catch (error) {
    return { error: reasonOf(error).replace(/^The body/, 'it') };
  }
}

function readYamlText(text: string): DataFile {
  const { document, problems } = readYaml(text);
  const [problem] = problems;
  if (problem !== undefined) return { error: `line ${problem.line}: ${problem.message}` };
  return { value: document?.value };
}
