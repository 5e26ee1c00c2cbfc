import type { Scenario } from '../bench-types.ts';
import { compareRestored, measureRounds } from '../rounds.ts';
import { baseOf } from './base-states.ts';

export const restore: Scenario = {
  slug: 'restore',
  datasets: ['usr'],
  run: (bench) => {
    const source = bench.workspace.dataset('usr');
    let target = '';
    const measurements = measureRounds(bench, {
      tools: bench.tools,
      base: baseOf(bench.workspace, 'usr'),
      isReadOnly: true,
      prepare: () => {
        target = bench.workspace.emptyDirectory('restored');
        return [];
      },
      commands: (tool, state) => tool.restore(state, { target, label: 'usr' }),
      verify: (tool) => compareRestored(tool, source, target),
    });
    bench.workspace.emptyDirectory('restored');
    return {
      slug: 'restore',
      title: 'restore of the part of /usr',
      goal: { mustReach: 0.75, aim: 1.1, aimAgainst: 'floor' },
      measurements,
    };
  },
};
