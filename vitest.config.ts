import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

import { RunReporter } from './test/support/run-reporter.ts';

// The two-core machine that this suite must suit gains nothing from more processes than cores.
const workerCountMax = 2;

/**
 * Tests of code that keeps no state: their files share a process, since to start one takes as long as what most of them
 * do. Every other file has one of its own.
 */
const stateless = ['chunking', 'crypto', 'filter', 'format', 'util'].map((folder) => `test/${folder}/**/*.test.ts`);

/** They take longer than the rest by far: one that starts last keeps a core waiting. The longest come first. */
const longest = ['crash', 'power-cut', 'repair', 'damage', 'model', 'kill', 'concurrency'].map(
  (name) => `/integration/${name}.test.ts`,
);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = longest.findIndex((name) => moduleId.endsWith(name));
      return rank < 0 ? longest.length : rank;
    };
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

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
    sequence: { sequencer: LongestFirst },
    // The runner takes them by name: the short files of the second fill up what the long ones of the first leave idle.
    projects: [
      { extends: true, test: { name: 'own process', include: ['test/**/*.test.ts'], exclude: stateless } },
      { extends: true, test: { name: 'shared process', include: stateless, isolate: false } },
    ],
  },
});

export default config;
