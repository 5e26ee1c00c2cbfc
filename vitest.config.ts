import { defineConfig, type ViteUserConfig } from 'vitest/config';

import { RunReporter } from './test/support/run-reporter.ts';

// The two-core machine that this suite must suit gains nothing from more processes than cores.
const workerCountMax = 2;

/**
 * Tests of code that keeps no state: their files share a process, since to start one takes as long as what most of them
 * do. Every other file has one of its own.
 */
const stateless = ['chunking', 'crypto', 'filter', 'format', 'util'].map((folder) => `test/${folder}/**/*.test.ts`);

const config: ViteUserConfig = defineConfig({
  test: {
    environment: 'node',
    globalSetup: ['test/support/ensure-built.ts'],
    pool: 'forks',
    reporters: ['default', new RunReporter()],
    maxWorkers: workerCountMax,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    restoreMocks: true,
    // The runner takes them by name: the short files of the second fill up what the long ones of the first leave idle.
    projects: [
      { extends: true, test: { name: 'own process', include: ['test/**/*.test.ts'], exclude: stateless } },
      { extends: true, test: { name: 'shared process', include: stateless, isolate: false } },
    ],
  },
});

export default config;
