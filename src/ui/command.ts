import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import type { CommandRunner } from '../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../console/exit-codes.ts';
import { formatHelpFooter } from '../console/options/help-footer.ts';
import { durationValue, upTo } from '../console/options/option-values.ts';
import { escapeForTerminal } from '../console/output/display-path.ts';
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
        const onNoBrowser = (): void => output.remark('No browser could be started: open the address yourself.');
        const opens = open && process.stdout.isTTY && hasScreen();
        const started = opens ? startBrowser(served.address, onNoBrowser) : undefined;
        await served.ended().finally(() => started?.forget());
        return EXIT_SUCCESS;
      }),
    );
}

function commandOf({ profile, isDefaultRepository, context }: Session): string {
  if (profile !== undefined) return `ldm -p ${quoteForShell(profile)}`;
  return isDefaultRepository ? 'ldm' : `ldm -r ${quoteForShell(context.backend.location)}`;
}

/** Whether a browser can be shown. Without a screen, the address is for another machine. */
function hasScreen(): boolean {
  const { DISPLAY: screen, WAYLAND_DISPLAY: wayland } = process.env;
  return process.platform !== 'linux' || screen !== undefined || wayland !== undefined;
}

/**
 * Opens an address with a secret in the browser of the user, or says that this is not possible. All users of the machine can read the arguments of its
 * programs, so the browser gets the name of a file that only this user can read, and that leads to the address.
 */
export function startBrowser(address: string, onFailure: () => void): { readonly forget: () => void } | undefined {
  let directory: string;
  let path: string;
  try {
    directory = mkdtempSync(join(process.env['XDG_RUNTIME_DIR'] ?? tmpdir(), 'ldm-ui-'));
    path = join(directory, 'open.html');
    const page = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${address}"><title>ldm</title>`;
    writeFileSync(path, page, { mode: 0o600, flag: 'wx' });
  } catch {
    // After `su`, the directory is often that of another user; a disk may be full. The address was printed.
    onFailure();
    return undefined;
  }
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const browser = startProgram([opener, pathToFileURL(path).href], { stdio: 'ignore', detached: true });
  browser.on('error', onFailure);
  browser.unref();
  return { forget: () => rmSync(directory, { recursive: true, force: true }) };
}
