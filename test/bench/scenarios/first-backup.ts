import type { Bench, DatasetName, Goal, Scenario, ScenarioResult } from '../bench-types.ts';
import { measureRounds, verifyRestored } from '../rounds.ts';

/** The first backups: into an empty repository, which is made before the clock starts. */
export const firstBackup: Scenario = {
  slug: 'first-backup',
  datasets: ['usr'],
  run: (bench) =>
    backUpFirst(bench, {
      slug: 'first-backup',
      dataset: 'usr',
      title: 'first backup of a part of /usr',
      goal: { mustReach: 0.5, aim: 1.25, aimAgainst: 'floor' },
    }),
};

export const releases: Scenario = {
  slug: 'releases',
  datasets: ['releases'],
  run: (bench) =>
    backUpFirst(bench, {
      slug: 'releases',
      dataset: 'releases',
      title: 'releases of a source tree',
      goal: { mustReach: 0.7, aim: 0.5, aimAgainst: 'restic' },
    }),
};

export const bigFiles: Scenario = {
  slug: 'big-files',
  datasets: ['big'],
  run: (bench) =>
    backUpFirst(bench, {
      slug: 'big-files',
      dataset: 'big',
      title: 'two big files, half incompressible, half words',
      goal: { mustReach: 0.4, aim: 0.25, aimAgainst: 'restic' },
    }),
};

export const bigArchive: Scenario = {
  slug: 'big-archive',
  datasets: ['archive'],
  run: (bench) =>
    backUpFirst(bench, {
      slug: 'big-archive',
      dataset: 'archive',
      title: 'two big files, half incompressible, half an archive of /usr',
      goal: { mustReach: 0.4, aim: 0.25, aimAgainst: 'restic' },
    }),
};

function backUpFirst(
  bench: Bench,
  options: { slug: string; dataset: DatasetName; title: string; goal: Goal },
): ScenarioResult {
  const source = bench.workspace.dataset(options.dataset);
  const label = options.dataset;
  const measurements = measureRounds(bench, {
    tools: bench.tools,
    measuresSize: true,
    prepare: (tool, state) => tool.initialize(state),
    commands: (tool, state) => tool.backup(state, { source, label }),
    ...(bench.verifiesBackups
      ? { verify: (tool, state) => verifyRestored(bench, { tool, state, source, label }) }
      : {}),
  });
  return { slug: options.slug, title: options.title, goal: options.goal, measurements };
}
