import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';

/** Where the costs go: `LDM_TEST_COST=build/cost.jsonl npm test` appends a line for each test file. */
const file = process.env['LDM_TEST_COST'];

/**
 * Processor time of a test file in seconds: `start` until its tests begin (the process and the imports), `bodies` in its
 * tests and hooks, `programs` in programs that it started and that have ended.
 */
export interface TestCost {
  readonly file: string;
  readonly start: number;
  readonly bodies: number;
  readonly programs: number;
}

if (file !== undefined) {
  const ended = globalThis as { costAtLastEnd?: number };
  const startedAt = ended.costAtLastEnd ?? 0;
  const programsBefore = programSeconds();
  let begunAt = 0;
  beforeAll(() => {
    begunAt = ownSeconds();
  });
  afterAll(() => {
    const endedAt = ownSeconds();
    ended.costAtLastEnd = endedAt;
    const cost: TestCost = {
      file: relative(process.cwd(), expect.getState().testPath ?? '?'),
      start: begunAt - startedAt,
      bodies: endedAt - begunAt,
      programs: programSeconds() - programsBefore,
    };
    appendFileSync(file, `${JSON.stringify(cost)}\n`);
  });
}

function ownSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** See proc_pid_stat(5): fields 16 and 17 are the times of children that were waited for, in ticks of 10 ms. */
function programSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[13]) + Number(fields[14])) / 100;
}
