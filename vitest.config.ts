import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

import { RunReporter } from './test/support/run-reporter.ts';

// On the two-core machines that this suite is made for, more processes than cores do not help.
const workerCountMax = 2;

/**
 * Tests of stateless code share a process, since starting one takes as long as most of their files. Every other test
 * file has its own process.
 */
const stateless = ['chunking', 'crypto', 'filter', 'format', 'util'].map((folder) => `test/${folder}/**/*.test.ts`);

/** These take far longer than the rest, so they run first: a core would stay idle if one started last. */
const longest = [
  'integration/crash',
  'integration/power-cut',
  'integration/damage',
  'integration/repair',
  'integration/kill',
  'integration/concurrency',
  'integration/model',
  'workers/task-claims',
  'integration/disk-full',
  'bench/bench',
  'integration/fidelity',
  'integration/hostile-checkpoint',
].map((name) => `/test/${name}.test.ts`);

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
    // The runner sorts projects by name: the short files of the second project fill the idle time of the first.
    projects: [
      { extends: true, test: { name: 'own process', include: ['test/**/*.test.ts'], exclude: stateless } },
      { extends: true, test: { name: 'shared process', include: stateless, isolate: false } },
    ],
  },
});

export default config;
