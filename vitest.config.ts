import { defineConfig } from 'vitest/config';

/** Files whose tests start programs or a browser: each needs the machine for itself. */
const WITH_PROCESSES = [
  'test/acceptance/**/*.test.ts',
  'test/ui/**/*.test.ts',
  'test/storage/*processes.test.ts',
  'client/test/p*.test.ts',
];

export default defineConfig({
  // The client is read unbuilt.
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    reporters: ['default', 'test/helpers/closing-line.ts'],
    pool: 'forks',
    // The identity provider of the tests tells how it would be run for good.
    onConsoleLog: log => !log.startsWith('oidc-provider'),
    // What nobody waits for any more: a busy machine is slow, and no reason to fail.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000, interval: 20 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'rooms',
          include: ['src/**/*.test.ts', 'client/test/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['node_modules/**', 'dist/**', ...WITH_PROCESSES],
          globalSetup: 'test/helpers/global-setup.ts',
          // No module holds state of its own, so that files can share a process and what it has loaded.
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'processes',
          include: WITH_PROCESSES,
          globalSetup: 'test/helpers/global-setup.ts',
          isolate: false,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
