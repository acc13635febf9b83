import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: 'test/helpers/build.ts',
    reporters: ['default', 'test/helpers/closing-line.ts'],
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['node_modules/**', 'dist/**'],
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
