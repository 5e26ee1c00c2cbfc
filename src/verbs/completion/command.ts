import type { Command } from 'commander';
import { Argument } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import type { Candidate, Completion } from './candidates.ts';
import type { Cursor } from './command-line.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import type { Session } from '../../console/session.ts';

const SHELLS = ['bash', 'zsh', 'fish'];

export function defineCompletion(program: Command, runner: CommandRunner): void {
  program
    .command('completion')
    .description(
      'Print a script that completes command lines in a shell. It completes commands, options, snapshots and their files.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm completion bash > ~/.local/share/bash-completion/completions/ldm', 'for bash, from the next start on'],
          ['ldm completion zsh > ~/.zfunc/_ldm', 'for zsh, if ~/.zfunc is in $fpath before compinit'],
          ['ldm completion fish > ~/.config/fish/completions/ldm.fish', 'for fish'],
        ],
      }),
    )
    .action(async (shell: string) => {
      const { COMPLETION_SCRIPTS } = await import('./scripts.ts');
      process.stdout.write(COMPLETION_SCRIPTS[shell]!);
    });
  defineComplete(program, runner);
}

/** What the scripts call. It prints nothing but candidates, and never fails. */
function defineComplete(program: Command, runner: CommandRunner): void {
  program
    .command('complete', { hidden: true })
    .argument('<shell>')
    .argument('[words...]')
    .action(async (shell: string, given: string[], _flags: object, command: Command) => {
      const [{ answerShell }, { grammarOf }] = await Promise.all([import('./completing.ts'), import('./grammar.ts')]);
      const answer = await answerShell(grammarOf(program), {
        shell,
        given,
        ask: async (cursor, wanted) =>
          wanted === 'profiles' ? profileCandidates() : askRepository({ runner, command, cursor, wanted }),
      });
      process.stdout.write(answer!);
    });
}

/** The profiles and groups of the configuration file; none if it cannot be read. */
async function profileCandidates(): Promise<Candidate[]> {
  const [{ isTable, readConfigFile }, { configPath }] = await Promise.all([
    import('../../console/settings/config-file.ts'),
    import('../../console/settings/directories.ts'),
  ]);
  const config = await readConfigFile(configPath(process.env)).catch(() => undefined);
  if (config === undefined) return [];
  const groups = isTable(config.groups) ? Object.keys(config.groups) : [];
  return [
    ...Object.keys(config.profiles).map((value) => ({ value, description: 'profile' })),
    ...groups.map((value) => ({ value, description: 'group of profiles' })),
  ];
}

interface Asked {
  readonly runner: CommandRunner;
  readonly command: Command;
  readonly cursor: Cursor;
  readonly wanted: Completion['wanted'];
}

/** Asks the repository that the words name. Without one, or without its password, there are no candidates. */
async function askRepository({ runner, command, cursor, wanted }: Asked): Promise<readonly Candidate[]> {
  const program = command.parent!;
  for (const [name, value] of cursor.options) {
    if (program.options.some((option) => option.attributeName() === name)) program.setOptionValue(name, value);
  }
  program.setOptionValue('json', false).setOptionValue('progress', false).setOptionValue('lockWait', 0);
  let candidates: readonly Candidate[] = [];
  const ask = async ({ context }: Session): Promise<number> => {
    const { storedCandidates } = await import('./stored-candidates.ts');
    candidates = await storedCandidates({ ...context, onNotice: undefined }, cursor, wanted);
    return EXIT_SUCCESS;
  };
  await runner
    .inSession(ask)(command)
    .catch(() => undefined);
  return candidates;
}
