import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

import { RunReporter } from './test/support/run-reporter.ts';

// On the two-core machines that this suite is made for, more processes than cores do not help.
const workerCountMax = 2;

/** Tests of repositories in memory, which start no programs and replace nothing. */
const sharedIntegration = [
  'accounting',
  'compact-full',
  'compact-leftovers',
  'condemned',
  'contradicting-segments',
  'copy-model',
  'damage',
  'dangling-symlinks',
  'frozen-features',
  'frozen-lending',
  'frozen-removals',
  'frozen-repositories',
  'group-parallel',
  'hostile-checkpoint',
  'invariants',
  'key-model',
  'late-renames',
  'listing-races',
  'manifest-copies',
  'model',
  'move-order',
  'power-cut',
  'removal-order',
  'repair',
  'restore-sparse',
  'sha1-collision',
  'sources',
  'tree-as-file',
  'twin-copies',
  'unfinished-faults',
];
/** The files that have a process of their own: what they do to their process cannot be undone, or they need a new one. */
const alone = [
  // It replaces a module of the program.
  'realm/domains/realm-cache',
  // They replace what a module has stored, or need one that nothing has used.
  'core/backend/failed-fsync',
  'core/files/target/nameless-file',
  'core/files/native/without-statx',
  // It looks at the threads of its process.
  'core/workers/thread-priority',
].map((name) => `test/${name}.test.ts`);
/**
 * The files that need third-party servers and tools, which few machines have: `npm run test:servers`, and CI. Each has
 * a process of its own, since some replace modules of the program.
 */
const servers = [
  'places/rclone/rclone-store',
  'bench/**/*',
  'places/rclone/rclone-repository',
  'integration/ceph',
  'integration/example-servers',
  'integration/import-history',
  'integration/real-load-test',
  'integration/real-schedulers',
  'integration/realm-servers',
  'integration/realm-watches',
  'integration/serve-ssh',
  'package/release-artefacts',
  'package/release-parts',
  'realm/coordination/zookeeper-coordinator',
  'ui/browser/*',
].map((name) => `test/${name}.test.ts`);
/** The files that take long, by the reason: `npm run test:long`, the soak, and CI. Each has a process of its own. */
const long = Object.values(
  JSON.parse(readFileSync(join(import.meta.dirname, 'test/long.json'), 'utf8')) as Readonly<Record<string, string[]>>,
)
  .flat()
  .map((name) => `test/${name}.test.ts`);
/**
 * The files that start many programs. They share processes apart from the others, which grow to 400 MB: to start a program
 * takes 14 ms there, and 1 ms in a small process.
 */
const starting = [
  `integration/!(${sharedIntegration.join('|')})`,
  'package/**/*',
  'cli/**/*',
  'console/**/*',
  '{verbs,realm,filters}/**/*command',
  'places/{serve/*,sftp/sftp-repository}',
  'core/files/source/ignore-patterns',
].map((name) => `test/${name}.test.ts`);

/** These take longest in their projects, so they run first: a core would stay idle if one started last. */
const longest = [
  'verbs/setup/setup-command',
  'filters/make/make-command',
  'cli/json-lines',
  'verbs/serve/command',
  'realm/lending/rely-on',
  'verbs/copy/copy',
  'integration/frozen-repositories',
  'realm/domains/realm-agent-planes',
  'integration/power-cut',
  'integration/suspended-removal',
  'integration/damaged-answers',
  'places/sftp/sftp-repository',
  'integration/crash',
  'integration/lost-places',
  'integration/concurrency',
  'bench/bench',
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
    // By content, so that a run transforms only what has changed since the last one.
    experimental: { fsModuleCache: true },
    globalSetup: ['test/support/ensure-built.ts'],
    setupFiles: ['wings', 'test-cost', 'cheap-passwords', 'heap-of-tests', 'equal-bytes'].map(
      (name) => `test/support/${name}.ts`,
    ),
    pool: 'forks',
    reporters: ['default', new RunReporter()],
    maxWorkers: workerCountMax,
    // Against tests that hang; what a test takes is no assertion.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 10_000,
    restoreMocks: true,
    sequence: { sequencer: LongestFirst },
    // Importing the program takes as long as most files run, so files share processes: what one changes in its process it
    // must put back. To replace a call of Node, see `replaceCall`. The runner sorts projects by name: the short files of
    // the last one fill the idle time of the others.
    projects: [
      { extends: true, test: { name: 'alone', include: alone } },
      { extends: true, test: { name: 'servers', include: servers } },
      { extends: true, test: { name: 'long', include: long } },
      {
        extends: true,
        test: { name: 'programs', include: starting, exclude: [...alone, ...servers, ...long], isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['test/**/*.test.ts'],
          exclude: [...alone, ...servers, ...long, ...starting],
          isolate: false,
        },
      },
    ],
  },
});

export default config;
