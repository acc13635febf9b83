import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';
import { text as textFrom } from 'node:stream/consumers';
import { Option } from 'commander';
import { AppError, reasonOf } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';

/** Larger than any secret may be. */
const MOST_BYTES = 128 * 1024;

/** Asks for one line without showing what is typed. Undefined when the person gives up (Ctrl-C, Ctrl-D). */
export function promptSecret(
  question: string,
  terminal: { readonly input: Readable; readonly output: Writable },
): Promise<string | undefined> {
  const { input, output } = terminal;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal: true, historySize: 0 });
  output.write(question);
  const answer = new Promise<string | undefined>(resolve => {
    lines.once('line', resolve);
    lines.once('close', () => resolve(undefined));
  });
  return answer.finally(() => {
    lines.close();
    output.write('\n');
  });
}

/** Reads all of a stream as UTF-8; one line break at the end, as `echo` makes it, does not count. */
export async function readSecret(input: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MOST_BYTES)
      throw new AppError('invalid-request', 'what came on standard input is too long to be a secret');
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    return text.replace(/\r?\n$/, '');
  } catch (cause) {
    throw new AppError('invalid-request', 'what came on standard input is not UTF-8 text', { cause });
  }
}

/** Asks for each on a terminal without showing it; otherwise each is a line of standard input. */
export async function passwordsFromPerson(questions: readonly string[]): Promise<readonly string[]> {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY) {
    const lines = (await readSecret(input)).split(/\r?\n/);
    if (lines.length === questions.length) return lines;
    throw new AppError(
      'invalid-request',
      `standard input must hold ${questions.length} line(s): ${questions.join(', ')}`,
    );
  }
  const answers: string[] = [];
  for (const question of questions) {
    const answer = await promptSecret(`${question}: `, { input, output });
    if (answer === undefined) throw new AppError('invalid-request', 'nothing was changed');
    answers.push(answer);
  }
  return answers;
}

export const fileOption = (): Option =>
  new Option('--file <path>', 'YAML or JSON of the object, - for standard input').makeOptionMandatory();

/** The server validates the object. Throws `invalid-request`, naming the file. */
export async function readBody<Body extends object>(path: string): Promise<Body> {
  const where = path === '-' ? 'standard input' : path;
  const text = path === '-' ? await textFrom(process.stdin) : await textOf(path);
  const body = text.trimStart().startsWith('{') ? readJson(where, text) : await readYamlText(where, text);
  assertObject<Body>(where, body);
  return body;
}

function readJson(where: string, text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new AppError('invalid-request', `${where}: ${reasonOf(error)}`);
  }
}

/** Loaded where it is needed: most commands read no file. */
async function readYamlText(where: string, text: string): Promise<unknown> {
  const { readYaml } = await import('../config/yaml/parse.ts');
  const { document, problems } = readYaml(text);
  const [problem] = problems;
  if (problem === undefined) return document?.value;
  throw new AppError('invalid-request', `${where}:${problem.line}:${problem.column}: ${problem.message}`);
}

function assertObject<Body extends object>(where: string, value: unknown): asserts value is Body {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new AppError('invalid-request', `${where} must hold an object: names with their values`);
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new AppError('not-found', `cannot read '${path}': ${reasonOf(error)}`);
  }
}
