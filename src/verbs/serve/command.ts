import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { sizeValue } from '../../console/options/option-values.ts';
import { interruptionSignal } from '../../console/signals.ts';

interface ServeFlags {
  readonly stdio?: boolean;
  readonly appendOnly?: boolean;
  readonly quota?: number;
}

const NOTES = `
The SSH server starts the command for a client, as a line in ~/.ssh/authorized_keys says. There, it is:
  command="ldm serve --stdio --append-only /srv/backups/laptop",restrict ssh-ed25519 AAAA... laptop

The client names the repository sftp:user@host:/ or a directory below. No path leads out of the directory, and
symlinks are not followed.`;

export function defineServe(program: Command): void {
  program
    .command('serve')
    .description('Let clients store repositories in a directory here, over SSH.')
    .argument('<directory>', 'the directory; it must exist')
    .option('--stdio', 'speak SFTP on standard input and output (required)')
    .option('--append-only', 'let clients add, and neither change nor remove what is stored')
    .option('--quota <size>', 'let all files in the directory take up at most this much: 500GiB', sizeValue)
    .addHelpText(
      'after',
      `${NOTES}\n${formatHelpFooter({
        examples: [['ldm serve --stdio --quota 500GiB /srv/backups/laptop', 'as the command of a key']],
        exitCodes: [0, 1, 2, 130],
        meanings: { 0: 'success: the client has closed the connection' },
      })}`,
    )
    .action(async (directory: string, { stdio, appendOnly, quota }: ServeFlags) => {
      if (stdio !== true || process.stdin.isTTY) {
        const hint = 'Give it as the command of a key in ~/.ssh/authorized_keys, with --stdio: see the help.';
        throw new UsageError('serve is started by an SSH server, and speaks SFTP on standard input and output', {
          hint,
        });
      }
      const { serve } = await import('../../places/serve/serve.ts');
      const options = { directory, isAppendOnly: appendOnly === true, quotaBytes: quota };
      await serve(options, { input: process.stdin, output: process.stdout }, interruptionSignal);
    });
}
