import { parseArgs } from 'node:util';
import type { BenchSize } from './bench-types.ts';
import { scenarios } from './scenarios/scenarios.ts';

export interface BenchOptions {
  readonly size: BenchSize;
  readonly runCount: number;
  readonly slugs: readonly string[];
  /** First letters of the names of the tools; all that are installed without it. */
  readonly toolNames: readonly string[] | undefined;
  readonly workDirectory: string | undefined;
  readonly jsonFile: string | undefined;
  readonly keepsWork: boolean;
}

export const benchUsage: string = `Usage: npm run bench -- [options]

  --remote [N]      instead of all that: ldm and restic on an SSH server behind a slow line, N times (default 2)
  --scenario SLUG   only this one (may be repeated): ${scenarios.map(({ slug }) => slug).join(', ')}
  --runs N          how often each tool runs (default 3; the median counts)
  --size SIZE       full (default; needs about 18 GB, in memory where there is room) or small
  --tool NAME       only tools whose names begin so (may be repeated): ldm, restic, borg, tar, cp
  --json FILE       write the measurements to FILE, one JSON object per line
  --work DIR        make the work directory below DIR
  --keep            do not remove the work directory`;

/** Throws with the usage on anything unknown, so that a typing error does not cost an hour. */
export function parseBenchOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      scenario: { type: 'string', multiple: true },
      runs: { type: 'string', default: '3' },
      size: { type: 'string', default: 'full' },
      tool: { type: 'string', multiple: true },
      json: { type: 'string' },
      work: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  });
  const slugs = values.scenario ?? scenarios.map(({ slug }) => slug);
  const unknown = slugs.find((slug) => !scenarios.some((scenario) => scenario.slug === slug));
  if (unknown !== undefined) throw new Error(`unknown scenario "${unknown}"\n\n${benchUsage}`);
  const runCount = Number(values.runs);
  if (!Number.isInteger(runCount) || runCount < 1) throw new Error(`--runs must be a positive whole number`);
  if (values.size !== 'full' && values.size !== 'small') throw new Error('--size must be full or small');
  return {
    size: values.size,
    runCount,
    slugs,
    toolNames: values.tool,
    workDirectory: values.work,
    jsonFile: values.json,
    keepsWork: values.keep,
  };
}
