import type { Bench, Scenario, Tool } from '../bench-types.ts';
import { measureRounds, sizeOfTree, verifyRestored } from '../rounds.ts';
import { baseOf, baseOnTop } from './base-states.ts';

export const deleteReclaim: Scenario = {
  slug: 'delete-reclaim',
  datasets: ['usr', 'changed'],
  run: (bench) => {
    const first = baseOf(bench.workspace, 'usr');
    const sizesBefore = new Map<Tool, number>();
    const measurements = measureRounds(bench, {
      tools: bench.tools.filter((tool) => tool.deleteAndReclaim !== undefined),
      base: baseOnTop(bench.workspace, first, 'changed'),
      measuresSize: true,
      prepare: (tool, state) => {
        sizesBefore.set(tool, sizeOfTree(tool.repositoryOf(state)));
        return [];
      },
      commands: (tool, state) => tool.deleteAndReclaim?.(state, 'changed') ?? [],
      verify: (tool, state) => verifyDeleted(bench, { tool, state, sizeBytesBefore: sizesBefore.get(tool)! }),
    });
    return {
      slug: 'delete-reclaim',
      title: 'delete one snapshot and reclaim',
      targets: [{ measure: 'seconds', must: { value: 0.3, peer: 'restic' }, aim: { value: 0.2, peer: 'restic' } }],
      measurements,
    };
  },
};

/** The repository shrank, and the snapshot that stayed is whole. */
function verifyDeleted(bench: Bench, options: { tool: Tool; state: string; sizeBytesBefore: number }): string[] {
  const { tool, state, sizeBytesBefore } = options;
  const sizeBytes = sizeOfTree(tool.repositoryOf(state));
  const problems = sizeBytes < sizeBytesBefore ? [] : [`${sizeBytesBefore} bytes before, ${sizeBytes} after`];
  if (!bench.verifiesBackups) return problems;
  const source = bench.workspace.dataset('usr');
  return [...problems, ...verifyRestored(bench, { tool, state, source, label: 'usr' })];
}
