import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { runLdmHere as runLdm } from '../support/run-ldm-here.ts';
import type { RunLdmResult } from '../support/run-ldm.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

interface Home {
  readonly directory: string;
  readonly repository: string;
  run(args: readonly string[], env?: Record<string, string>): Promise<RunLdmResult>;
}

function makeHome(): Home {
  const directory = memoryDirectory();
  mkdirSync(join(directory, 'work'));
  writeFileSync(join(directory, 'work', 'notes.txt'), 'notes');
  return {
    directory,
    repository: join(directory, 'data', 'ldm', 'repository'),
    run: (args, env = {}) => runLdm(args, { cwd: directory, env: { XDG_DATA_HOME: join(directory, 'data'), ...env } }),
  };
}

describe('the default repository', () => {
  it('is made by the first backup, which says so, and only by the first', async () => {
    const home = makeHome();
    const first = await home.run(['backup', 'work']);
    expect(first.stderr).toBe('');
    expect(first.stdout).toMatch(/^created repository [0-9a-f]{10} at /);
    expect(first.stdout).toContain(` at ${home.repository}, not encrypted\n`);
    expect(first.code).toBe(0);
    const second = await home.run(['backup', 'work']);
    expect(second.stdout).not.toContain('created');
    expect(second.stdout).toMatch(/^the repository is not encrypted: [^\n]*$/m);
    expect(second.code).toBe(0);
  });

  it('is announced as an object with --json', async () => {
    const home = makeHome();
    const { stdout } = await home.run(['backup', 'work', '--json', '--no-progress']);
    const [line] = stdout.split('\n');
    expect(JSON.parse(line!)).toMatchObject({ message_type: 'initialized', repository: home.repository });
  });

  it.each([['snapshots'], ['stats'], ['check'], ['compact'], ['ls', 'latest'], ['backup', '--dry-run', 'work']])(
    'is not made by %s',
    async (...args) => {
      const home = makeHome();
      const { code, stderr } = await home.run(args);
      expect(code).toBe(10);
      expect(stderr).toBe(
        `ldm: there is no repository yet at the default place, ${home.repository}\n` +
          '`ldm backup <path>` creates it. To use another repository, name it with -r or LDM_REPOSITORY.\n',
      );
      expect(existsSync(home.repository)).toBe(false);
    },
  );
});

describe('a repository that was named', () => {
  it.each(['option', 'environment'])('by an %s must have been made with init', async (how) => {
    const home = makeHome();
    const place = join(home.directory, 'typo');
    const { code, stdout, stderr } =
      how === 'option'
        ? await home.run(['-r', place, 'backup', 'work'])
        : await home.run(['backup', 'work'], { LDM_REPOSITORY: place });
    expect(code).toBe(10);
    expect(stdout).toBe('');
    expect(stderr).toContain(place);
    expect(stderr).toContain('init');
    expect(existsSync(place)).toBe(false);
  });

  it.each([
    ['file', 'it is a file'],
    ['file/below/it', 'DIRECTORY/file is a file'],
  ])('cannot be created at %s', async (name, reason) => {
    const home = makeHome();
    const { directory } = home;
    writeFileSync(join(directory, 'file'), '');
    const place = join(directory, name);
    const problem = `cannot create a repository at ${place}: ${reason.replace('DIRECTORY', directory)}`;
    expect(await home.run(['-r', place, 'init', '--no-encryption'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `ldm: ${problem}\nNothing was changed. Name a new or empty directory.\n`,
    });
  });

  it('is not created among other files, and a directory of its own is suggested', async () => {
    const home = makeHome();
    const place = join(home.directory, 'disk');
    mkdirSync(join(place, 'lost+found'), { recursive: true });
    expect(await home.run(['-r', place, 'init', '--no-encryption'])).toMatchObject({
      code: 1,
      stderr: `ldm: ${place} is not empty: it contains lost+found\nNothing was changed. Name a new or empty directory, such as ${place}/ldm.\n`,
    });
  });

  it('is made by init, which prints the plan, and not twice', async () => {
    const home = makeHome();
    const place = join(home.directory, 'place');
    const args = [
      'init',
      '--no-encryption',
      '-r',
      place,
      '--chunker',
      'fixed',
      '--chunk-size',
      '64MiB',
      '--capacity',
      '40GiB',
      '--hashes',
      '7',
      '-v',
    ];
    const made = await home.run(args);
    expect(made.code).toBe(0);
    expect(made.stdout).toContain(`at ${place}`);
    // The published example: n_max = 640, m = 6463 by formula (2), of which the next prime is taken.
    expect(made.stdout).toMatch(/n_max\) +640\n/);
    expect(made.stdout).toMatch(/positions \(m\) +6,4\d\d\n/);
    expect(made.stdout).toMatch(/\(k\) +7\n/);
    expect(made.stdout).toContain('0.79 % predicted');
    const again = await home.run(args);
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(/^ldm: .*already/);
  });

  it('prints the plan as an object with --json', async () => {
    const home = makeHome();
    const { stdout } = await home.run([
      'init',
      '--no-encryption',
      '-r',
      join(home.directory, 'place'),
      '--json',
      '--no-progress',
      '--fpr',
      '0.01',
    ]);
    expect(JSON.parse(stdout)).toMatchObject({
      message_type: 'initialized',
      id: expect.stringMatching(/^[0-9a-f]{64}$/),
      chunk_hash: 'sha1',
      plan: { hashes: 7, fpr_target: 0.01, capacity: expect.any(Number), positions: expect.any(Number) },
    });
  });
});
