import type { ConfigProblem } from '../config/problems.ts';

/** The configuration files have errors; nothing was started. */
export class ConfigurationInvalid extends Error {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super('the configuration is not valid');
    this.name = 'ConfigurationInvalid';
    this.problems = problems;
  }
}
