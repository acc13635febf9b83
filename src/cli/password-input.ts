import { AppError } from '../lib/errors.ts';
import { promptSecret, readSecret } from './secret-input.ts';

/** Asks for each on a terminal without showing it; else each is a line of standard input. */
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
