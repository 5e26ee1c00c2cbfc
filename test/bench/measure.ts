import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { Command } from './bench-types.ts';

export interface CommandUsage {
  readonly seconds: number;
  readonly memoryBytesMax: number | undefined;
  readonly stdout: string;
}

/** Node does not tell what a child used, and polling /proc misses peaks; GNU time (package `time`) asks the kernel. */
const timeProgram = '/usr/bin/time';
const outputSizeBytesMax = 256 << 20;

/** Runs a command to its end. Throws with what it printed when it fails. */
export function runCommand(command: Command): CommandUsage {
  const hasTime = existsSync(timeProgram);
  const directory = hasTime ? mkdtempSync(join(tmpdir(), 'ldm-bench-usage-')) : undefined;
  const usageFile = directory === undefined ? undefined : join(directory, 'usage');
  try {
    const [file, args] =
      usageFile === undefined
        ? [command.file, command.args]
        : [timeProgram, ['-f', '%M', '-o', usageFile, command.file, ...command.args]];
    const start = performance.now();
    const run = spawnSync(file, args, {
      cwd: command.cwd,
      env: { ...process.env, ...command.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: outputSizeBytesMax,
    });
    const seconds = (performance.now() - start) / 1000;
    if (run.error !== undefined) throw run.error;
    if (run.status !== 0) throw new Error(describeFailure(command, run));
    return {
      seconds,
      memoryBytesMax: usageFile === undefined ? undefined : Number(readFileSync(usageFile, 'utf8').trim()) * 1024,
      stdout: run.stdout.toString(),
    };
  } finally {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  }
}

/** Runs a list of commands as one step: the times add up, the memory is that of the largest. */
export function runCommands(commands: readonly Command[]): CommandUsage {
  const usages = commands.map((command) => runCommand(command));
  const peaks = usages.map((usage) => usage.memoryBytesMax).filter((peak) => peak !== undefined);
  return {
    seconds: usages.reduce((sum, usage) => sum + usage.seconds, 0),
    memoryBytesMax: peaks.length === 0 ? undefined : Math.max(...peaks),
    stdout: usages.map((usage) => usage.stdout).join(''),
  };
}

/** What a program prints when asked for its version, or undefined where it is not installed. */
export function versionOf(file: string, args: readonly string[]): string | undefined {
  const run = spawnSync(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  if (run.error !== undefined || run.status !== 0) return undefined;
  return /\d+(\.\d+)+/.exec(run.stdout.toString())?.[0];
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

function describeFailure(command: Command, run: ReturnType<typeof spawnSync>): string {
  const output = `${String(run.stdout).slice(-2000)}\n${String(run.stderr).slice(-2000)}`.trim();
  const end = run.signal === null ? `exit code ${String(run.status)}` : run.signal;
  return `${command.file} ${command.args.join(' ')}: ${end}\n${output}`;
}
