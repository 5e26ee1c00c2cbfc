import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Scenario } from '../bench-types.ts';
import { bigFileNames, flipMiddleByte } from '../data/make-big.ts';
import { runCommands } from '../measure.ts';
import { measureRounds, verifyRestored } from '../rounds.ts';
import { baseOf } from './base-states.ts';

export const oneByte: Scenario = {
  slug: 'one-byte',
  datasets: ['big'],
  run: (bench) => {
    const source = bench.workspace.dataset('big');
    const tools = bench.tools.filter(({ kind }) => kind === 'backup');
    const base = baseOf(bench.workspace, 'big');
    // Every tool must have seen the files before the byte changes.
    for (const tool of tools) bench.workspace.withState({ tool, base, isReadOnly: true }, () => runCommands([]));
    const path = join(source, bigFileNames.random);
    const { size } = statSync(path);
    const label = 'one-byte';
    flipMiddleByte(path, size);
    try {
      const measurements = measureRounds(bench, {
        tools,
        base,
        measuresSize: true,
        commands: (tool, state) => tool.backup(state, { source, label }),
        ...(bench.verifiesBackups
          ? { verify: (tool, state) => verifyRestored(bench, { tool, state, source, label }) }
          : {}),
      });
      return {
        slug: 'one-byte',
        title: 'the same, one byte changed in the middle',
        targets: [{ measure: 'seconds', must: { value: 0.35, peer: 'restic' }, aim: { value: 0.3, peer: 'restic' } }],
        measurements,
      };
    } finally {
      flipMiddleByte(path, size);
    }
  },
};
