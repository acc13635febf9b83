import { defineConfig } from 'vitest/config';

export default defineConfig({
  // The client is read unbuilt.
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    globalSetup: 'test/helpers/global-setup.ts',
    reporters: ['default', 'test/helpers/closing-line.ts'],
    include: ['src/**/*.test.ts', 'client/test/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['node_modules/**', 'dist/**'],
    pool: 'forks',
    // Most tests wait for disks, sockets and intervals, not for a core.
    maxWorkers: 4,
    // The identity provider of the tests tells how it would be run for good.
    onConsoleLog: log => !log.startsWith('oidc-provider'),
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
