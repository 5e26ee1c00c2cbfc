import type { Bench, Scenario, ScenarioOptions, ScenarioResult, Target } from '../bench-types.ts';
import { compareRestored, measureRounds } from '../rounds.ts';
import { baseOf } from './base-states.ts';

const memoryTarget: Target = { measure: 'memoryBytesMax', must: { value: 250e6 } };

export const restore: Scenario = restoreOf({
  slug: 'restore',
  dataset: 'usr',
  title: 'restore of the part of /usr',
  targets: [
    { measure: 'seconds', must: { value: 1.25, peer: 'untar' }, aim: { value: 1.05, peer: 'untar' } },
    memoryTarget,
  ],
});

export const restoreReleases: Scenario = restoreOf({
  slug: 'restore-releases',
  dataset: 'releases',
  title: 'restore of the releases',
  targets: [
    { measure: 'seconds', must: { value: 0.6, peer: 'restic' }, aim: { value: 0.4, peer: 'restic' } },
    memoryTarget,
  ],
});

export const restoreBig: Scenario = restoreOf({
  slug: 'restore-big',
  dataset: 'big',
  title: 'restore of the two big files',
  targets: [
    { measure: 'seconds', must: { value: 0.6, peer: 'restic' }, aim: { value: 1.3, peer: 'cp' } },
    memoryTarget,
  ],
});

function restoreOf(options: ScenarioOptions): Scenario {
  return { slug: options.slug, datasets: [options.dataset], run: (bench) => restoreAll(bench, options) };
}

function restoreAll(bench: Bench, options: ScenarioOptions): ScenarioResult {
  const { slug, dataset, title, targets } = options;
  const source = bench.workspace.dataset(dataset);
  let target = '';
  const measurements = measureRounds(bench, {
    tools: bench.tools,
    base: baseOf(bench.workspace, dataset),
    isReadOnly: true,
    prepare: () => {
      target = bench.workspace.emptyDirectory('restored');
      return [];
    },
    commands: (tool, state) => tool.restore(state, { target, label: dataset }),
    verify: (tool) => compareRestored(tool, source, target),
  });
  bench.workspace.emptyDirectory('restored');
  return { slug, title, targets, measurements };
}
