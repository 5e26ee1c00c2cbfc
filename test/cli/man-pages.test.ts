import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { createCommandRunner } from '../../src/console/command-runner.ts';
import { createProgram } from '../../src/cli/program.ts';

const directory = join(import.meta.dirname, '../../dist/man');
const pages = readdirSync(directory);

/** The text of each page as a reader sees it, in lines of any length. One run of groff formats them all. */
function readPages(): Map<string, string> {
  const paths = pages.map((page) => join(directory, page));
  const { stdout, stderr } = spawnSync('groff', ['-man', '-ww', '-Tutf8', '-P-cbou', '-rLL=1000n', ...paths], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  const [, ...parts] = stdout.split(/^(LDM\S*)\(1\) +ldm manual +\1\(1\)$/m);
  const texts = new Map<string, string>();
  for (let index = 0; index < parts.length; index += 2) {
    texts.set(`${parts[index]!.toLowerCase()}.1`, parts[index + 1]!.replaceAll(/[\s\u00AD\u2010]+/g, ' '));
  }
  return texts;
}

it('there is a man page for each command, with all that its help says', ({ skip }) => {
  skip(spawnSync('groff', ['--version']).status !== 0, 'groff is not installed');
  const expected: string[] = [];
  const texts = readPages();
  const program = createProgram(createCommandRunner());
  const visit = (names: readonly string[], command: typeof program): void => {
    const page = `${names.join('-')}.1`;
    expected.push(page);
    const text = texts.get(page);
    const help = command.createHelp();
    for (const { flags, description } of help.visibleOptions(command)) {
      expect(text, page).toContain(`${flags} ${description}`.replaceAll(/\s+/g, ' '));
    }
    // The page of the program has all options of the program; the others name those that their help names.
    const globals = help.visibleGlobalOptions(command).map(({ long }) => long!);
    const shown = command.helpInformation();
    const usual = globals.filter((long) => shown.includes(`${long} `));
    for (const long of usual) expect(text, page).toContain(long);
    if (globals.length > usual.length) expect(text, page).toContain('See ldm(1) for all others.');
    expect(text, page).toContain('EXAMPLES');
    expect(text, page).toContain('EXIT CODES 0 success');
    for (const inner of help.visibleCommands(command))
      if (inner.name() !== 'help' || command === program) visit([...names, inner.name()], inner);
  };
  visit(['ldm'], program);
  expect(pages.toSorted()).toEqual(expected.toSorted());
});

it('no page depends on the day of the build', () => {
  for (const page of pages) expect(readFileSync(join(directory, page), 'utf8')).toMatch(/^\.TH "LDM[^"]*" 1 "" "ldm /);
});

it('prose is filled, and what is in columns stays', () => {
  const page = readFileSync(join(directory, 'ldm-import-tar.1'), 'utf8');
  expect(page).toMatch(/\.SH "NOTES"\nReads what[^.]*/);
  expect(page).toMatch(/\n\.PP\nThe names in the archive/);
  expect(readFileSync(join(directory, 'ldm-backup.1'), 'utf8')).toMatch(/\.SH "STANDARD INPUT"\n\S/);
  expect(page).toMatch(/\.SH "EXIT CODES"\n\.nf\n {2}0 {3}success\n {2}1 /);
  expect(readFileSync(join(directory, 'ldm.1'), 'utf8')).toMatch(/\.TP\ndiff\nCompare [^.]*\. See ldm\\-diff\(1\)\.\n/);
});
