import type { Bench, Scenario, ScenarioOptions, ScenarioResult, Target } from '../bench-types.ts';
import { measureRounds, verifyRestored } from '../rounds.ts';

const sizeTarget: Target = {
  measure: 'repositorySizeBytes',
  must: { value: 0.93, peer: 'restic' },
  aim: { value: 0.85, peer: 'restic' },
};

/** The first backups: into an empty repository, which is made before the clock starts. */
export const firstBackup: Scenario = firstBackupOf({
  slug: 'first-backup',
  dataset: 'usr',
  title: 'first backup of a part of /usr',
  targets: [
    { measure: 'seconds', must: { value: 1.1, peer: 'tar | zstd -3' }, aim: { value: 0.9, peer: 'tar | zstd -3' } },
    { measure: 'memoryBytesMax', must: { value: 200e6 }, aim: { value: 150e6 } },
    sizeTarget,
  ],
});

export const releases: Scenario = firstBackupOf({
  slug: 'releases',
  dataset: 'releases',
  title: 'releases of a source tree',
  targets: [
    { measure: 'seconds', must: { value: 0.5, peer: 'restic' }, aim: { value: 0.4, peer: 'restic' } },
    sizeTarget,
  ],
});

export const bigFiles: Scenario = firstBackupOf({
  slug: 'big-files',
  dataset: 'big',
  title: 'two big files, half incompressible, half words',
  targets: [{ measure: 'seconds', must: { value: 0.35, peer: 'restic' }, aim: { value: 0.25, peer: 'restic' } }],
});

export const bigArchive: Scenario = firstBackupOf({
  slug: 'big-archive',
  dataset: 'archive',
  title: 'two big files, half incompressible, half an archive of /usr',
  targets: [{ measure: 'seconds', must: { value: 0.35, peer: 'restic' }, aim: { value: 0.25, peer: 'restic' } }],
});

function firstBackupOf(options: ScenarioOptions): Scenario {
  return { slug: options.slug, datasets: [options.dataset], run: (bench) => backUpFirst(bench, options) };
}

function backUpFirst(bench: Bench, options: ScenarioOptions): ScenarioResult {
  const source = bench.workspace.dataset(options.dataset);
  const label = options.dataset;
  const measurements = measureRounds(bench, {
    tools: bench.tools.filter(({ kind }) => kind !== 'copy'),
    measuresSize: true,
    prepare: (tool, state) => tool.initialize(state),
    commands: (tool, state) => tool.backup(state, { source, label }),
    ...(bench.verifiesBackups
      ? { verify: (tool, state) => verifyRestored(bench, { tool, state, source, label }) }
      : {}),
  });
  return { slug: options.slug, title: options.title, targets: options.targets, measurements };
}
