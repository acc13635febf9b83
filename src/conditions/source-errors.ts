import { defineCount } from './count.ts';
import { calledAs } from './wording.ts';

export const sourceErrors = defineCount({
  id: 'source-errors',
  name: 'Source Errors',
  kind: 'input',
  counter: 'errors',
  description: 'An input reported more errors in the time window than threshold.',
  alarm: (subject, count, window) => `${calledAs('input', subject)} reported ${count} errors in ${window}`,
  ok: (subject, lasted) => `${calledAs('input', subject)} reports no more errors after ${lasted}`,
});
