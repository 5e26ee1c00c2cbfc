import { type RunRecord, RunRecords, runsDirectory } from '../../console/jobs/run-records.ts';
import { runFields } from '../../console/jobs/run-words.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { formatDuration } from '../../core/util/format-time.ts';
import { quoteForShell } from '../../console/output/words.ts';
import type { PlannedProfiles } from '../../console/jobs/planned-profiles.ts';
import { type PlannedStep, planSteps } from './run-plan.ts';
import { describeRun } from './run-text.ts';

/** What a run prints besides the output of its steps. */
interface RunReport {
  problem(this: void, profile: string, message: string): void;
  step(this: void, profile: string, step: PlannedStep): void;
  run(this: void, profile: string, run: RunRecord): void;
}

export function createRunReport(output: Output): RunReport {
  return {
    problem: (profile, problem) => {
      const message = `${profile}: ${problem}`;
      output.problem(`ldm: warning: ${escapeForTerminal(message)}`, 'notice', { kind: 'warning', message });
    },
    step: (profile, { name }) => {
      output.remark(`${escapeForTerminal(profile)}: ${name}`);
      output.flush();
    },
    run: (profile, run) => {
      const { result, exitCode, durationMs = 0 } = run;
      output.message('run', runFields(profile, run));
      const line = `${profile}: ${describeRun(run)} in ${formatDuration(durationMs)}`;
      const isExpected = result === 'success' || result === 'skipped';
      if (isExpected || output.json || exitCode === 0) output.remark(escapeForTerminal(line));
      else output.problem(`ldm: ${escapeForTerminal(line)}`, 'notice', { kind: 'warning', message: line });
      output.flush();
    },
  };
}

/** Prints what would run. */
export function reportPlan(output: Output, { usable, refused }: PlannedProfiles, globalWords: readonly string[]): void {
  const directory = runsDirectory(process.env);
  for (const { name, error } of refused) createRunReport(output).problem(name, error.message);
  for (const profile of usable) {
    const runs = directory === undefined ? [] : new RunRecords(directory, profile.name).read(false);
    const steps = planSteps(profile, globalWords, runs);
    const { onlyIf = [], before = [], after = [] } = profile.table.run ?? {};
    const programs = (list: readonly (readonly string[])[]): string[] => list.map(commandLine);
    output.message('run_plan', {
      profile: profile.name,
      only_if: onlyIf.map(({ text }) => text),
      before,
      steps: steps.map(({ name, words, leftOut }) => ({ step: name, command: ['ldm', ...words], left_out: leftOut })),
      after,
    });
    const rows = [
      ...onlyIf.map(({ text }) => ['only if', text]),
      ...programs(before).map((line) => ['before', line]),
      ...steps.map(({ words, leftOut }) => ['step', withReason(commandLine(['ldm', ...words]), leftOut)]),
      ...programs(after).map((line) => ['after', line]),
    ];
    output.line(escapeForTerminal(profile.name));
    output.line(
      formatTable(
        rows.map((row) => row.map((cell) => escapeForTerminal(cell))),
        { indent: '  ' },
      ),
    );
  }
}

function withReason(line: string, leftOut: string | undefined): string {
  return leftOut === undefined ? line : `${line}  (not this time: ${leftOut})`;
}

function commandLine(words: readonly string[]): string {
  return words.map(quoteForShell).join(' ');
}
