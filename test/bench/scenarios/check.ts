import type { Scenario } from '../bench-types.ts';
import { measureRounds } from '../rounds.ts';
import { baseOf, baseOnTop } from './base-states.ts';

export const check: Scenario = {
  slug: 'check',
  datasets: ['usr', 'big'],
  run: (bench) => {
    const measurements = measureRounds(bench, {
      tools: bench.tools.filter((tool) => tool.check !== undefined),
      base: baseOnTop(bench.workspace, baseOf(bench.workspace, 'usr'), 'big'),
      isReadOnly: true,
      measuresSize: true,
      commands: (tool, state) => tool.check?.(state) ?? [],
      // A check that found damage where there is none has failed as a command by now.
      verify: () => [],
    });
    return {
      slug: 'check',
      title: 'check, reading everything',
      targets: [{ measure: 'seconds', must: { value: 0.5, peer: 'restic' }, aim: { value: 0.4, peer: 'restic' } }],
      measurements,
    };
  },
};
