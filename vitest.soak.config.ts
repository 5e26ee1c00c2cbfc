import { defineConfig, type ViteUserConfig } from 'vitest/config';

import { RunReporter } from './test/support/run-reporter.ts';

/** Full-size tests, which take minutes and gigabytes of disk space: `npm run soak`. */
const config: ViteUserConfig = defineConfig({
  test: {
    environment: 'node',
    globalSetup: ['test/support/ensure-built.ts'],
    include: ['test/soak/**/*.soak.ts'],
    pool: 'forks',
    reporters: ['default', new RunReporter()],
    maxWorkers: 1,
    testTimeout: 3_600_000,
    // Removing a million files takes longer than the default of 10 s.
    hookTimeout: 3_600_000,
  },
});

export default config;
