import { realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

import { writeHomeDirectory } from '../support/home-directory.ts';
import { hasRestic, initRestic, resticSelection } from '../support/restic.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

/** What the files below contain, by name. */
const PATTERN_FILES = {
  common: [
    '# caches',
    '',
    '  .cache  ',
    '\tnode_modules',
    '*.iso',
    '!Downloads/*.iso',
    '# $UNSET is only a comment',
    '$HOME_OF_TEST/vm/*.qcow2',
    '${HOME_OF_TEST}/tmp/**',
    '!tmp/!*',
    'module$$py.class',
    'price$',
  ].join('\n'),
  windows: '\ufeffTrash\r\n*.AUX\r\n\r\n',
  folded: 'THESIS.*\n!*.tex\ndownloads/FILM.*\nänderung.*\nσίσυφοσ.txt\n',
} as const;

/** Options that both programs have. `HOME/` stands for the home directory, `FILES/` for that of the files above. */
const CASES: readonly (readonly string[])[] = [
  [],
  ['--exclude', '.cache', '-e', 'node_modules', '-e', '*.iso', '-e', '__pycache__'],
  ['-e', 'Cache', '-e', 'cache2', '-e', 'HOME/Downloads', '-e', '.local/share/Trash'],
  ['-e', 'HOME/Documents/**/*.pdf', '-e', 'HOME/src/*/build', '-e', 'plot \\[*'],
  ['-e', 'HOME/*', '-e', '!HOME/Documents', '-e', '!HOME/.ssh', '-e', '*.aux'],
  ['-e', '*~', '-e', '.*', '-e', '!.config', '-e', '!.ssh'],
  ['-e', '\\#*', '-e', '[A-M]*.[jJ][pP][gG]', '-e', '*.tmp', '-e', '!\\!important*'],
  ['--iexclude', '*.jpg', '--iexclude', 'CACHE'],
  ['--iexclude', '*.PDF', '--iexclude', '!*\\[final\\]*', '--iexclude', 'änderung.TXT', '--iexclude', 'HOME/MUSIC/*'],
  ['--iexclude', 'istanbul', '--iexclude', 'ÜBERSICHT/str[A-ß]*', '--iexclude', '[F]ilm*'],
  ['--iexclude', '*.tmp', '-e', '!b.tmp', '-e', '!B.TMP'],
  ['--exclude-file', 'FILES/common'],
  ['--exclude-file', 'FILES/windows', '-e', '!thesis.AUX', '--exclude-file', 'FILES/common', '-e', '!.cache'],
  ['--iexclude-file', 'FILES/folded', '--iexclude', '!*.mkv'],
  ['--exclude-caches', '--exclude-if-present', '.nobackup', '--exclude-larger-than', '700'],
  ['--exclude-if-present', '.nobackup:no\n', '--exclude-if-present', 'config.xml', '--exclude-larger-than', '1k'],
  ['--exclude-if-present', 'a.py:', '--exclude-if-present', '.nobackup:no backup', '-e', '.nobackup', '-x'],
];

function listingOf(stdout: string, root: string): string[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { message_type: string; action: string; item: string; type?: string })
    .filter(({ message_type: kind, action }) => kind === 'verbose_status' && action !== 'excluded')
    .map(({ item, type }) => `${item}${type === 'directory' ? '/' : ''}`)
    .filter((path) => path.startsWith(`${root}/`) && path !== `${root}/`)
    .map((path) => path.slice(root.length + 1))
    .toSorted();
}

it('the options of restic select the same in a home directory', async ({ skip }) => {
  skip(!hasRestic, 'restic is not installed');
  const directory = realpathSync(memoryDirectory());
  const home = join(directory, 'home', 'ada');
  writeHomeDirectory(home);
  for (const [name, text] of Object.entries(PATTERN_FILES)) writeFileSync(join(directory, name), text);
  const env = { HOME: dirname(home), HOME_OF_TEST: home, LDM_REPOSITORY: join(directory, 'ldm') };
  const restic = initRestic(directory, env);
  await runLdmHere(['init', '--no-encryption'], { env });
  for (const options of CASES) {
    const args = options.map((word) => word.replace('HOME/', `${home}/`).replace('FILES', directory));
    const { code, stdout, stderr } = await runLdmHere(['backup', '-n', '-vv', '--json', ...args, home], { env });
    expect(code, stderr).toBe(0);
    const selected = resticSelection(restic, home, [...args, home]);
    expect(listingOf(stdout, home), options.join(' ')).toEqual(selected);
    expect(selected.length).toBeGreaterThan(1);
  }
});
