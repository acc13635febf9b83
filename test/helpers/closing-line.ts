import type { Reporter, TestModule } from 'vitest/node';
import { conformanceTests, namePattern } from './conformance.ts';

/**
 * Ends a run with the plain line `N passed, N failed`; a file that could not even be loaded counts as a failure, and so
 * does a test that docs/conformance.md names and that did not run where its file did. Tests that passed only at the second
 * try are named before it: they are to be mended.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    let passed = 0;
    let failed = errors.length;
    let skipped = 0;
    const ran = new Map<string, string[]>();
    for (const module of modules) {
      if (module.errors().length > 0) failed += 1;
      const names: string[] = [];
      ran.set(module.relativeModuleId, names);
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== 'skipped') names.push(test.name);
        if ((test.diagnostic()?.retryCount ?? 0) > 0 && state === 'passed')
          process.stdout.write(
            `passed only at the second try: ${module.relativeModuleId}: ${test.fullName}\n`,
          );
        if (state === 'passed') passed += 1;
        else if (state === 'failed') failed += 1;
        else skipped += 1;
      }
    }
    // Whoever asks for a part of the tests by name has left out the others on purpose.
    for (const { file, name } of skipped > 0 ? [] : conformanceTests()) {
      if (ran.get(file)?.some(one => namePattern(name).test(one)) !== false) continue;
      process.stdout.write(`docs/conformance.md names a test that did not run: ${file}: ${name}\n`);
      process.exitCode = 1;
      failed += 1;
    }
    process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
  }
}
