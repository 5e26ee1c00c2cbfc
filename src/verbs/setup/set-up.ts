import { dirname } from 'node:path';
import { CancelledError } from '../../core/errors.ts';
import type { Surroundings } from '../../console/command-runner.ts';
import { EXIT_INCOMPLETE, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import type { Output } from '../../console/output/output.ts';
import { wrapText } from '../../console/output/wrapped-text.ts';
import { Desk, commandLines } from './desk.ts';
import { assertAddable, readSoundConfig, requiredConfigPath } from './profile-text.ts';
import { type Answers, askAll } from './questions.ts';
import { contentOf, stepsFor } from './steps.ts';

type Steps = ReturnType<typeof stepsFor>;

/** Asks everything, shows what is to be done, and does it. Returns the exit code. */
export async function setUp({ output, given, program, runCommand }: Surroundings): Promise<number> {
  const desk = new Desk(output);
  const decided = await decide(desk, { output, given, program, runCommand }).catch((error: unknown) => {
    if (error instanceof CancelledError) output.problem('ldm: nothing was changed', 'notice', {});
    throw error;
  });
  if (decided === undefined) {
    desk.say('Nothing was changed.');
    return EXIT_SUCCESS;
  }
  const { answers, steps } = decided;
  const exitCode = await perform(steps, desk, output);
  if (exitCode === EXIT_SUCCESS || exitCode === EXIT_INCOMPLETE) sayWhatFollows(desk, answers);
  return exitCode;
}

/** Returns undefined if the user does not want it. */
async function decide(
  desk: Desk,
  { given, program, runCommand }: Surroundings,
): Promise<{ readonly answers: Answers; readonly steps: Steps } | undefined> {
  const config = await readSoundConfig(program);
  desk.say('This asks what to back up, where to and how often, and shows all commands before it runs them.');
  desk.say('Until then nothing is changed: Ctrl+C ends it at any question.\n');
  const answers = await askAll({ desk, config, given, program, directory: dirname(requiredConfigPath()) });
  if (answers.isNewProfile) await assertAddable(answers.name, contentOf(answers), program);
  const steps = stepsFor(answers, { program, runCommand });
  desk.say('\nThese commands do it:\n');
  for (const { commandLine, purpose, details = [] } of steps) {
    const line = `  ${commandLine}    # ${purpose}`;
    desk.say(wrapText(line) === line ? line : `  # ${purpose}\n${commandLines(`  ${commandLine}`)}`);
    for (const detail of details) desk.say(detail === '' ? '' : `      ${detail}`);
  }
  desk.say('');
  return (await desk.confirm('Run them', false)) ? { answers, steps } : undefined;
}

/** Says what is done and what is not if a step fails. */
async function perform(steps: Steps, desk: Desk, output: Output): Promise<number> {
  for (const [index, { commandLine, run }] of steps.entries()) {
    desk.say(`\n${commandLines(`$ ${commandLine}`)}`);
    let exitCode: number | undefined;
    try {
      exitCode = await run();
    } finally {
      const isDone = exitCode === EXIT_SUCCESS || (exitCode === EXIT_INCOMPLETE && index === steps.length - 1);
      if (!isDone) reportFailure(steps, index, output);
    }
    if (exitCode !== EXIT_SUCCESS) return exitCode;
  }
  return EXIT_SUCCESS;
}

function reportFailure(steps: Steps, failed: number, output: Output): void {
  const lines = [
    `ldm: ${steps[failed]!.commandLine} has failed`,
    ...steps.slice(0, failed).map(({ commandLine }) => `done      ${commandLine}`),
    ...steps.slice(failed).map(({ commandLine }) => `not done  ${commandLine}`),
    'Run `ldm setup` again and name the same profile: it goes on with what is not done.',
  ];
  output.problem(lines.map((line) => wrapText(line, { indent: '          ' })).join('\n'), 'notice', {});
}

function sayWhatFollows(desk: Desk, { name, found, password, schedule, installsSchedule }: Answers): void {
  const words = name === 'default' ? '' : ` -p ${name}`;
  desk.say('');
  if (found !== 'plain' && password.kind !== 'none') {
    desk.say('Without the password, the backups can be read only with the page that this command prints.');
    desk.sayWithCommand('Print it today, and keep the paper elsewhere:', `ldm${words} key export | lp`);
    desk.say('');
  }
  if (schedule !== undefined && !installsSchedule)
    desk.sayWithCommand('To start the runs at their times:', `ldm schedule add ${name}`);
  desk.sayWithCommand('To see the snapshots:', `ldm${words} snapshots`);
  desk.sayWithCommand('To see how the runs go:', 'ldm status');
}
