import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

import { RunReporter } from './test/support/run-reporter.ts';

// On the two-core machines that this suite is made for, more processes than cores do not help.
const workerCountMax = 2;

/**
 * Many files share a process, since importing the program takes as long as most of them run: for these folders a
 * quarter of the processor time. Every other file has its own process: those that start programs, replace modules of
 * Node, change what belongs to the process, or depend on task pools and memory pools that nothing has used before.
 */
const sharedFolders = [
  'backend',
  'chunking',
  'cli',
  'crypto',
  'filter-family',
  'format',
  'fuse',
  'ldm',
  'operations',
  'repository',
  'store',
  'util',
];
/** Short tests of repositories in memory. */
const sharedIntegration = [
  'accounting',
  'compact-full',
  'compact-leftovers',
  'condemned',
  'invariants',
  'late-renames',
  'manifest-copies',
  'removal-order',
  'sources',
  'tree-as-file',
  'twin-copies',
];
const shared = [
  ...sharedFolders.map((folder) => `test/${folder}/**/*.test.ts`),
  ...sharedIntegration.map((name) => `test/integration/${name}.test.ts`),
];
const alone = [
  'backend/local-backend',
  'cli/failing-sync',
  'cli/raw-paths',
  'cli/signals',
  'cli/startup',
  'cli/surroundings',
  'cli/terminal',
  'operations/backup*',
  'operations/backup/*',
  'operations/own-repository',
  'operations/realm-cache',
  'operations/restore*',
  'operations/restore/*',
].map((name) => `test/${name}.test.ts`);

/** These take far longer than the rest, so they run first: a core would stay idle if one started last. */
const longest = [
  'integration/crash',
  'integration/power-cut',
  'integration/damage',
  'integration/repair',
  'integration/kill',
  'integration/concurrency',
  'integration/model',
  'integration/copy-crash',
  'integration/copy-model',
  'integration/disk-full',
  'bench/bench',
  'integration/fidelity',
  'integration/hostile-checkpoint',
  'integration/large-trees',
  'integration/locks-left-behind',
  'integration/broken-order',
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
    setupFiles: ['test/support/test-cost.ts', 'test/support/cheap-passwords.ts'],
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
      { extends: true, test: { name: 'own process', include: ['test/**/*.test.ts'], exclude: shared } },
      { extends: true, test: { name: 'own process too', include: alone } },
      { extends: true, test: { name: 'shared process', include: shared, exclude: alone, isolate: false } },
    ],
  },
});

export default config;
