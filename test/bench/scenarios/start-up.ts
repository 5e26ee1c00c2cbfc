import type { BenchSize, Command, Measurement, Scenario } from '../bench-types.ts';
import { runCommand, versionOf } from '../measure.ts';
import { orderOfRound } from '../rounds.ts';
import { ldmProgram } from '../tools/ldm.ts';

/** So short that one run says little. */
const runCountFactors: Readonly<Record<BenchSize, number>> = { full: 5, small: 1 };

/** `ldm version` against the least that any program of this kind can take: Node doing nothing. */
export const startUp: Scenario = {
  slug: 'start-up',
  datasets: [],
  run: (bench) => {
    const ldm = bench.tools.find((tool) => tool.name === 'ldm');
    const contestants: { tool: string; version: string; command: Command }[] = [
      { tool: 'node -e 0', version: process.versions.node, command: node(['-e', '0']) },
    ];
    if (ldm !== undefined) {
      contestants.unshift({ ...ldm, tool: 'ldm', command: node([ldmProgram, 'version']) });
    }
    for (const [tool, args] of [
      ['restic', ['version']],
      ['borg', ['--version']],
    ] as const) {
      const version = bench.tools.some(({ name }) => name.startsWith(tool)) ? versionOf(tool, args) : undefined;
      if (version !== undefined) contestants.push({ tool, version, command: { file: tool, args } });
    }
    const samples = contestants.map((contestant) => ({ ...contestant, seconds: [] as number[] }));
    for (let round = 0; round < bench.runCount * runCountFactors[bench.size]; round++) {
      for (const { command, seconds } of orderOfRound(samples, round)) seconds.push(runCommand(command).seconds);
    }
    const measurements = samples.map(({ tool, version, seconds }): Measurement => ({ tool, version, seconds }));
    return { slug: 'start-up', title: 'start-up: print the version', measurements };
  },
};

function node(args: readonly string[]): Command {
  return { file: process.execPath, args };
}
