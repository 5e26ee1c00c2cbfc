import type { Scenario } from '../bench-types.ts';
import { measureRounds, verifyRestored } from '../rounds.ts';
import { baseOf } from './base-states.ts';

export const unchanged: Scenario = {
  slug: 'unchanged',
  datasets: ['usr'],
  run: (bench) => {
    const source = bench.workspace.dataset('usr');
    const label = 'again';
    const measurements = measureRounds(bench, {
      tools: bench.tools.filter((tool) => !tool.isFloor),
      base: baseOf(bench.workspace, 'usr'),
      measuresSize: true,
      commands: (tool, state) => tool.backup(state, { source, label }),
      ...(bench.verifiesBackups
        ? { verify: (tool, state) => verifyRestored(bench, { tool, state, source, label }) }
        : {}),
    });
    return {
      slug: 'unchanged',
      title: 'the same, unchanged',
      goal: { mustReach: 0.5, aim: 0.3, aimAgainst: 'restic' },
      measurements,
    };
  },
};
