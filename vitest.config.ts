import { defineConfig, type ViteUserConfig } from 'vitest/config';

// The two-core machine that this suite must suit gains nothing from more processes than cores.
const workerCountMax = 2;

const config: ViteUserConfig = defineConfig({
  test: {
    environment: 'node',
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/ensure-built.ts'],
    pool: 'forks',
    maxWorkers: workerCountMax,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    restoreMocks: true,
  },
});

export default config;
