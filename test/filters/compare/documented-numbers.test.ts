import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { simulateChains } from '../../../src/filters/simulate/simulate.ts';
import type { ChainKind, LongestChain } from '../../../src/filters/simulate/simulate.ts';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import { inSoak } from '../../support/soak.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const docs = join(import.meta.dirname, '../../../docs');
const page = readFileSync(join(docs, 'filters.md'), 'utf8');

/** A command line of the page with what it printed, split where lines were left out. */
interface Documented {
  readonly args: readonly string[];
  readonly parts: readonly string[];
}

/** A block of the page is a command line and what it printed. */
function documentedRuns(commands: RegExp): Documented[] {
  const blocks = [...page.matchAll(/^```console\n\$ ldm (.+)\n([^]*?)\n```$/gm)];
  return blocks
    .filter((block) => commands.test(block[1]!))
    .map((block) => ({ args: block[1]!.split(' '), parts: block[2]!.split(/^…\n/m).map((part) => part.trimEnd()) }));
}

/** How many runs are so few that they can be made again in a test. */
const RUNS_MAX = 20;
const isQuick = ({ args }: Documented): boolean => !(Number(args[args.indexOf('--runs') + 1]) > RUNS_MAX);
const all = documentedRuns(/^filter (plan|simulate) /);
const quick = all.filter(isQuick);

describe('docs/filters.md', () => {
  it('has the published examples and the experiment, once short and once long', () => {
    expect(quick.map(({ args }) => args[1])).toEqual(['plan', 'plan', 'plan', 'simulate']);
    expect(all).toHaveLength(quick.length + 1);
    expect(page).toContain('n_max = 640, m = 6463, FPR 0.0078');
    expect(page).toContain('n_max = 1600, m = 16158, FPR 0.0078');
  });

  it.each(quick.map((run) => [run.args.join(' '), run] as const))('shows what `ldm %s` prints', async (_line, run) => {
    const { args, parts } = run;
    const directory = memoryDirectory();
    mkdirSync(join(directory, 'docs'));
    const { code, stdout } = await runLdmHere(args, { cwd: directory });
    expect(code).toBe(0);
    let at = 0;
    for (const part of parts) {
      const found = stdout.indexOf(part, at);
      // Only to show the difference.
      if (found < 0) expect(stdout.slice(at)).toContain(part);
      at = found + part.length;
    }
    const svg = args.indexOf('--svg');
    if (svg < 0) return;
    const name = args[svg + 1]!;
    expect(readFileSync(join(directory, name), 'utf8')).toBe(readFileSync(join(docs, '..', name), 'utf8'));
  });

  it('has means that another seed and a part of the runs confirm', async () => {
    const { args, parts } = all.find((run) => !isQuick(run))!;
    const runs = Number(args[args.indexOf('--runs') + 1]);
    const seed = 1 + Number(args[args.indexOf('--seed') + 1]);
    const { groups } = await simulateChains({ runs: Math.ceil(runs / inSoak(10, 25)), seed, samples: 1 });
    const pattern =
      /^ +([\d,]+) {2}(LDM|DIBF) +(by link position|as saved|by cell) +(arrays|LdmFilter|DibfFilter).* ([\d.]+) ± ([\d.]+) +([\d.]+) /gm;
    const rows = [...parts.at(-1)!.matchAll(pattern)];
    expect(rows).toHaveLength(10);
    for (const [row, chunks, name, chains, measuredIn, mean, error, theory] of rows) {
      const { samples } = groups.find(({ elements }) => String(elements) === chunks!.replace(',', ''))!;
      const structure = name === 'LDM' ? 'ldm' : 'dibf';
      const isSaved = chains === 'as saved';
      const kind = measuredIn === 'arrays' ? structure : (`${structure}Filter${isSaved ? 'Saved' : ''}` as ChainKind);
      const chain: LongestChain = samples[0]![kind];
      const tolerance = 5 * Math.hypot(chain.standardError, Number(error));
      expect(Math.abs(chain.mean - Number(mean)), `${row}, seed ${seed}`).toBeLessThan(tolerance);
      expect(chain.expected.toFixed(2)).toBe(theory);
      // Both were rounded to two digits.
      expect(Math.abs(Number(mean) - Number(theory)), `${row}, documented`).toBeLessThan(5 * Number(error) + 0.01);
    }
  });
});
