import { defineConfig } from 'vitest/config';

/** Files whose tests start several servers or a browser: each needs the machine for itself. */
const WITH_SEVERAL_PROCESSES = [
  'test/ui/**/*.test.ts',
  'test/storage/*processes.test.ts',
  'test/acceptance/{delivery-crash,kill,login-service,member-sso,online,processes,users-kill}.test.ts',
  'test/acceptance/{hosted,postgres,prometheus}*.test.ts',
];
/** Files whose tests start a server at a time. */
const WITH_A_PROCESS = ['test/acceptance/**/*.test.ts', 'client/test/p*.test.ts'];

export default defineConfig({
  // The client is read unbuilt.
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    reporters: ['default', 'test/helpers/closing-line.ts'],
    pool: 'forks',
    setupFiles: 'test/helpers/property-seed.ts',
    // The identity provider of the tests tells how it would be run for good.
    onConsoleLog: log => !log.startsWith('oidc-provider'),
    // What nobody waits for any more: a busy machine is slow, and no reason to fail.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // A test that passes only at the second try keeps no change waiting, and is named at the end as one to mend.
    retry: 1,
    expect: { poll: { timeout: 300_000, interval: 20 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'rooms',
          include: ['src/**/*.test.ts', 'client/test/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['node_modules/**', 'dist/**', ...WITH_A_PROCESS, ...WITH_SEVERAL_PROCESSES],
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
          name: 'process',
          include: WITH_A_PROCESS,
          exclude: WITH_SEVERAL_PROCESSES,
          globalSetup: 'test/helpers/global-setup.ts',
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'processes',
          include: WITH_SEVERAL_PROCESSES,
          globalSetup: 'test/helpers/global-setup.ts',
          isolate: false,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
