import { spawnSync } from 'node:child_process';

/** Modules of the product that dependency-cruiser must have seen at least: it passes on none at all in silence. */
const FEWEST_MODULES = 150;

interface Step {
  readonly name: string;
  readonly command: string;
  /** Looks at what was printed; answers what is wrong with it. */
  readonly check?: (output: string) => string | undefined;
}

/** Every check there is, the cheap ones first. */
const STEPS: readonly Step[] = [
  { name: 'format and lint', command: 'biome ci --error-on-warnings' },
  { name: 'floors', command: 'depcruise src client/src --output-type err-long', check: sawModules },
  { name: 'types', command: 'tsc --noEmit -p .' },
  {
    name: 'promises',
    command: 'oxlint --type-aware -A all -D typescript/no-floating-promises src client/src',
  },
  {
    // A method keeps its object: what is handed on is an arrow, or declared as a function.
    name: 'methods',
    command:
      'oxlint --type-aware -A all -D typescript/unbound-method --ignore-pattern **/*.test.ts src client/src',
  },
  { name: 'dead code', command: 'knip' },
  { name: 'generated files', command: 'tsx scripts/generate.ts --check' },
  { name: 'contract of the API', command: 'tsx scripts/contract.ts' },
  { name: 'tests', command: 'vitest run' },
];

function sawModules(output: string): string | undefined {
  const seen = Number(/\((\d+) modules/.exec(output)?.[1] ?? 0);
  return seen >= FEWEST_MODULES ? undefined : `it saw ${seen} modules, fewer than ${FEWEST_MODULES}`;
}

function run({ name, command, check }: Step): boolean {
  const [program = '', ...args] = command.split(' ');
  const result = spawnSync(`node_modules/.bin/${program}`, args, {
    encoding: 'utf8',
    stdio: check ? 'pipe' : 'inherit',
  });
  const wrong = result.status === 0 ? check?.(result.stdout) : `exit code ${result.status}`;
  if (wrong === undefined) {
    console.log(`ok      ${name}`);
    return true;
  }
  if (check) console.log(result.stdout, result.stderr);
  console.log(`FAILED  ${name}: ${wrong} (${command})`);
  return false;
}

const steps = STEPS.filter(step => step.name !== 'tests' || !process.argv.includes('--but-tests'));
const failed = steps.filter(step => !run(step));
process.exitCode = failed.length === 0 ? 0 : 1;
