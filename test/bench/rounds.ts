import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { diffTrees } from '../support/compare-trees.ts';
import type { BaseState, Bench, Command, Measurement, Tool } from './bench-types.ts';
import { runCommands } from './measure.ts';

export interface RoundsOptions {
  readonly tools: readonly Tool[];
  readonly base?: BaseState;
  readonly isReadOnly?: boolean;
  /** Whether the repository's size afterwards is worth a figure. */
  readonly measuresSize?: boolean;
  /** Brings the state to where the clock starts. */
  prepare?(tool: Tool, state: string): readonly Command[];
  commands(tool: Tool, state: string): readonly Command[];
  /** Looks at the result of the first round; returns what is wrong. */
  verify?(tool: Tool, state: string): string[];
}

/** Every other round is backwards (A B, B A, ...), so that no tool always runs first or after the same other tool. */
export function orderOfRound<T>(items: readonly T[], round: number): readonly T[] {
  return round % 2 === 0 ? items : items.toReversed();
}

/** Runs all tools in turn, several times, each from the same starting point, so that a busy moment hits everybody. */
export function measureRounds(bench: Bench, options: RoundsOptions): Measurement[] {
  const samples = options.tools.map((tool) => createSample(tool));
  for (let round = 0; round < bench.runCount; round++) {
    for (const sample of orderOfRound(samples, round)) {
      const { tool } = sample;
      const stateOptions = {
        tool,
        isReadOnly: options.isReadOnly ?? false,
        ...(options.base === undefined ? {} : { base: options.base }),
      };
      bench.workspace.withState(stateOptions, (state) => {
        runCommands(options.prepare?.(tool, state) ?? []);
        const commands = options.commands(tool, state);
        bench.touchMemory();
        const usage = runCommands(commands);
        bench.log(`  ${tool.name}: ${usage.seconds.toFixed(2)} s`);
        sample.seconds.push(usage.seconds);
        if (usage.memoryBytesMax !== undefined) sample.peaks.push(usage.memoryBytesMax);
        if (options.measuresSize === true) sample.repositorySizeBytes = sizeOfTree(tool.repositoryOf(state));
        if (round === 0) sample.problems = options.verify?.(tool, state);
      });
    }
  }
  return samples.map((sample) => finishSample(sample));
}

interface Sample {
  readonly tool: Tool;
  readonly seconds: number[];
  readonly peaks: number[];
  repositorySizeBytes: number | undefined;
  problems: string[] | undefined;
}

function createSample(tool: Tool): Sample {
  return { tool, seconds: [], peaks: [], repositorySizeBytes: undefined, problems: undefined };
}

function finishSample({ tool, seconds, peaks, repositorySizeBytes, problems }: Sample): Measurement {
  return {
    tool: tool.name,
    version: tool.version,
    seconds,
    ...(peaks.length === 0 ? {} : { memoryBytesMax: Math.max(...peaks) }),
    ...(repositorySizeBytes === undefined ? {} : { repositorySizeBytes }),
    ...(problems === undefined ? {} : { problems }),
  };
}

/** Restores a snapshot and compares it with its source. */
export function verifyRestored(
  bench: Bench,
  options: { tool: Tool; state: string; source: string; label: string },
): string[] {
  const { tool, state, source, label } = options;
  const target = bench.workspace.emptyDirectory('verify');
  runCommands(tool.restore(state, { target, label }));
  return compareRestored(tool, source, target);
}

export function compareRestored(tool: Tool, source: string, target: string): string[] {
  return diffTrees(source, tool.restoredRoot(target, source), {
    // The root itself is the caller's directory for most tools.
    ignoreRoot: true,
    // tar's usual format knows whole seconds only.
    ignore: tool.kind === 'archive' ? ['mtimeNs'] : [],
  });
}

/** The bytes of every file below, as they are, without what the file system adds. */
export function sizeOfTree(directory: string): number {
  let sizeBytes = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    sizeBytes += entry.isDirectory() ? sizeOfTree(path) : lstatSync(path).size;
  }
  return sizeBytes;
}

export function describeData(directory: string): { fileCount: number; sizeBytes: number } {
  let fileCount = 0;
  let sizeBytes = 0;
  const pending = [Buffer.from(directory)];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    for (const name of readdirSync(path, { encoding: 'buffer' })) {
      const location = Buffer.concat([path, Buffer.from('/'), name]);
      const stats = lstatSync(location);
      if (stats.isDirectory()) pending.push(location);
      else {
        fileCount++;
        sizeBytes += stats.size;
      }
    }
  }
  return { fileCount, sizeBytes };
}
