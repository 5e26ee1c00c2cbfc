import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { replaceFile } from '../../core/files/target/replace-file.ts';
import { byteStringFromText } from '../../core/util/byte-string.ts';
import { makeDirectories } from '../../core/util/make-directories.ts';
import { startProgram } from '../../core/util/programs.ts';
import { EXIT_SUCCESS, EXIT_USAGE } from '../../console/exit-codes.ts';
import type { Output } from '../../console/output/output.ts';
import { splitWords } from '../../console/password/split-words.ts';
import { parseConfig } from '../../console/settings/config-file.ts';
import { configPath } from '../../console/settings/directories.ts';
import { findFaults } from '../../console/settings/profile.ts';
import { reportFaults } from './check-config.ts';

const NEW_FILE = `# Profiles of ldm: see \`ldm config --help\`.
#
# [profiles.home]
# repo = "/mnt/usb/ldm"
# backup.paths = ["~/documents"]
# forget.keep-daily = 14
`;

/**
 * Lets the user change a copy of the configuration file. A copy with a fault stays beside it, and the next call goes on
 * with that. Returns the exit code.
 * @throws UsageError if there is no editor, or if it fails
 */
export async function editConfig(output: Output, program: Command): Promise<number> {
  const path = configPath(process.env);
  if (path === undefined)
    throw new UsageError('there is no home directory for a configuration file', { hint: 'Set HOME.' });
  const copy = `${path}.edited`;
  makeDirectories(dirname(path), { mode: 0o700 });
  if (existsSync(copy)) assertNotOlder(copy, path);
  else writeFileSync(copy, existsSync(path) ? readFileSync(path) : NEW_FILE, { mode: 0o600 });
  await runEditor(copy);
  const faults = await faultsIn(copy, program);
  if (faults.length > 0) {
    reportFaults(output, faults);
    output.problem(
      `ldm: ${path} was not changed. Run \`ldm config edit\` again to go on with your changes.`,
      'notice',
      {
        kind: 'warning',
        message: `${path} was not changed`,
      },
    );
    return EXIT_USAGE;
  }
  replaceFile(byteStringFromText(path), readFileSync(copy), existsSync(path) ? statSync(path).mode & 0o777 : 0o600);
  rmSync(copy);
  output.remark(`saved ${path}`);
  return EXIT_SUCCESS;
}

/** Otherwise the copy would undo what was changed since. */
function assertNotOlder(copy: string, path: string): void {
  if (!existsSync(path) || statSync(copy).mtimeMs >= statSync(path).mtimeMs) return;
  throw new UsageError(`${copy} is from an earlier edit, and ${path} was changed since`, {
    hint: `Remove ${copy} to begin again.`,
  });
}

async function faultsIn(copy: string, program: Command): Promise<UsageError[]> {
  try {
    return findFaults(await parseConfig(copy, readFileSync(copy, 'utf8')), program).map(({ error }) => error);
  } catch (error) {
    if (error instanceof UsageError) return [error];
    throw error;
  }
}

/** An editor may be a command with options: `code --wait`. */
async function runEditor(copy: string): Promise<void> {
  const { VISUAL, EDITOR } = process.env;
  const words = splitWords(
    [VISUAL, EDITOR, 'vi'].find((each) => each !== undefined && each !== '')!,
    'VISUAL or EDITOR',
  );
  const child = startProgram([...words, copy], { stdio: 'inherit' });
  const problem = await new Promise<string | undefined>((resolve) => {
    child.once('error', ({ message }) => resolve(message));
    child.once('exit', (code) => resolve(code === 0 ? undefined : `exit code ${code ?? 'none'}`));
  });
  if (problem === undefined) return;
  throw new UsageError(`the editor ${words.join(' ')} failed: ${problem}`, { hint: 'Set VISUAL or EDITOR.' });
}
