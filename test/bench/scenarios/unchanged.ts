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
      tools: bench.tools.filter(({ kind }) => kind === 'backup'),
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
      targets: [{ measure: 'seconds', must: { value: 0.35, peer: 'restic' }, aim: { value: 0.25, peer: 'restic' } }],
      measurements,
    };
  },
};
