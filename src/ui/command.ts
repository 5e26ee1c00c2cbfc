import type { Command } from 'commander';
import type { CommandRunner } from '../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../console/exit-codes.ts';
import { formatHelpFooter } from '../console/options/help-footer.ts';
import { durationValue, upTo } from '../console/options/option-values.ts';
import { escapeForTerminal } from '../console/output/display-path.ts';
import type { Output } from '../console/output/output.ts';
import { quoteForShell } from '../console/output/words.ts';
import type { Session } from '../console/session.ts';
import { startProgram } from '../core/util/programs.ts';

interface UiFlags {
  readonly port?: number;
  readonly open: boolean;
  readonly idle: number;
}

const NOTES = `
The page is for this machine only: its address is on 127.0.0.1 and contains a secret, which is new each time. It shows
snapshots and files, and gives files back as downloads. It changes nothing: what would change the repository appears as a
command to copy. It takes no lock, so backups, deletes and compactions go on meanwhile.

Over SSH, forward the port: ssh -L 8021:127.0.0.1:8021 server ldm ui --port 8021`;

export function defineUi(program: Command, runner: CommandRunner): void {
  program
    .command('ui')
    .description('Show the repository as a page in the browser, until Ctrl+C.')
    .option('--port <number>', 'serve on this port of 127.0.0.1 (default: any that is free)', upTo(65_535))
    .option('--no-open', 'print the address only, and open no browser')
    .option('--idle <duration>', 'end after this time without a request; 0: never', durationValue, 15 * 60_000)
    .addHelpText(
      'after',
      `${NOTES}\n${formatHelpFooter({
        examples: [
          ['ldm ui', 'open the page in the browser'],
          ['ldm ui --no-open --port 8021', 'print the address, always with the same port'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: { 0: 'success: it ended by Ctrl+C, SIGTERM, or because it was idle' },
      })}`,
    )
    .action(
      runner.inSession(async (session, { port = 0, open, idle: idleMs }: UiFlags) => {
        const { output, context } = session;
        const { startUi } = await import('./server/start-ui.ts');
        const onFailure = (error: unknown): void => {
          output.problem(`ldm: the page could not be answered: ${escapeForTerminal(String(error))}`, 'error', {
            error: { message: String(error) },
          });
        };
        const served = await startUi({ context, command: commandOf(session), port, idleMs, onFailure });
        session.endProgress();
        output.remark(`${served.address}\nThe page is open until Ctrl+C.`);
        output.message('serving', { address: served.address });
        output.flush();
        if (open && process.stdout.isTTY) openBrowser(served.address, output);
        await served.ended();
        return EXIT_SUCCESS;
      }),
    );
}

function commandOf({ profile, isDefaultRepository, context }: Session): string {
  if (profile !== undefined) return `ldm -p ${quoteForShell(profile)}`;
  return isDefaultRepository ? 'ldm' : `ldm -r ${quoteForShell(context.backend.location)}`;
}

/** Where there is no screen, the address is for another machine. */
function openBrowser(address: string, output: Output): void {
  const { DISPLAY: screen, WAYLAND_DISPLAY: wayland } = process.env;
  if (process.platform === 'linux' && screen === undefined && wayland === undefined) return;
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const browser = startProgram([opener, address], { stdio: 'ignore', detached: true });
  browser.on('error', () => output.remark('No browser could be started: open the address yourself.'));
  browser.unref();
}
