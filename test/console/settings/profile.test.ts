import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { createCommandRunner } from '../../../src/console/command-runner.ts';
import { parseConfig } from '../../../src/console/settings/config-file.ts';
import { findFaults } from '../../../src/console/settings/profile.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { profileWith } from '../../support/profile-of.ts';
import { runLdmHere as runLdm } from '../../support/run-ldm-here.ts';
import type { RunLdmResult } from '../../support/run-ldm.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

/** A directory with a source, and a function that runs ldm with a configuration file in which @ is that directory. */
function configured(toml: string): {
  readonly place: string;
  readonly file: string;
  readonly ldm: (args: readonly string[], env?: Record<string, string>) => Promise<RunLdmResult>;
} {
  const place = memoryDirectory();
  const file = join(place, 'config', 'ldm', 'config.toml');
  mkdirSync(join(place, 'config', 'ldm'), { recursive: true });
  mkdirSync(join(place, 'source'));
  for (const name of ['kept.txt', 'left.tmp']) writeFileSync(join(place, 'source', name), name);
  writeFileSync(file, toml.replaceAll('@', place));
  const ldm = async (args: readonly string[], env: Record<string, string> = {}): Promise<RunLdmResult> =>
    runLdm(args, { env: { XDG_CONFIG_HOME: join(place, 'config'), ...env } });
  return { place, file, ldm };
}

const COMPLETE = `
[profiles.home]
repo = "@/repository"
lock-wait = "5m"

[profiles.home.init]
no-encryption = true
chunk-size = "64KiB"

[profiles.home.backup]
paths = ["@/source"]
exclude = ["*.tmp", "*.bak"]
tag = "daily,local"
time = 2026-01-31T12:00:00Z
`;

describe('a profile', () => {
  it('has everything that a scheduled backup needs', async () => {
    const { place, ldm } = configured(COMPLETE);
    expect(await ldm(['-p', 'home', 'init'])).toMatchObject({ code: 0 });
    expect(await ldm(['-p', 'home', '-q', 'backup'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
    const { stdout } = await ldm(['snapshots', '--json'], { LDM_PROFILE: 'home' });
    const snapshot = JSON.parse(stdout.split('\n')[0]!) as Record<string, unknown>;
    expect(snapshot).toMatchObject({ paths: [join(place, 'source')], tags: ['daily', 'local'] });
    expect(Date.parse(String(snapshot['time']))).toBe(Date.parse('2026-01-31T12:00:00Z'));
    const listing = await ldm(['-p', 'home', 'ls', 'latest']);
    expect(listing.stdout).toContain('kept.txt');
    expect(listing.stdout).not.toContain('left.tmp');
  });

  it('gives way to the command line and to the environment', async () => {
    const { place, ldm } = configured(COMPLETE);
    await ldm(['-p', 'home', 'init']);
    const other = join(place, 'other');
    await ldm(['-r', other, 'init', '--no-encryption']);
    const kept = join(place, 'source', 'kept.txt');
    await ldm(['-p', 'home', '-r', other, 'backup', kept, '--tag', 'mine']);
    const warned = await ldm(['-p', 'home', 'snapshots', '--json'], { LDM_REPOSITORY: other });
    expect(JSON.parse(warned.stdout.split('\n')[0]!)).toMatchObject({ paths: [kept], tags: ['mine'] });
    expect(warned.stderr).toContain('LDM_REPOSITORY is used, not the repository of the profile home');
    expect((await ldm(['-p', 'home', 'snapshots', '-r', other])).stderr).toBe('');
  });

  it('gives no paths to a backup of a stream or of listed files', async () => {
    const { place, ldm } = configured(COMPLETE.replace('exclude', 'files-from = "@/list"\nexclude'));
    const list = join(place, 'list');
    writeFileSync(list, list);
    await ldm(['-p', 'home', 'init']);
    const saved = async (args: readonly string[]): Promise<unknown> => {
      const { stdout, stderr } = await ldm(['-p', 'home', 'backup', '--json', ...args]);
      expect(stderr).toBe('');
      const { snapshot_id: id, excludes_unmatched } = JSON.parse(stdout.trim().split('\n').at(-1)!) as {
        snapshot_id: string;
        excludes_unmatched: unknown;
      };
      const shown = JSON.parse((await ldm(['-p', 'home', 'show', id, '--json'])).stdout) as { paths: string[] };
      return [shown.paths, excludes_unmatched];
    };
    expect(await saved(['--stdin-from-command', '--', 'echo', 'x'])).toEqual([['/stdin'], []]);
    expect(await saved(['--stdin-name', 'n', '--stdin-from-command', '--', 'echo'])).toEqual([['/n'], []]);
    expect(await saved(['--files-from', list])).toEqual([[list], ['*.tmp', '*.bak']]);
    expect(await saved([])).toEqual([[list, join(place, 'source')], ['*.bak']]);
  });

  it('excludes files on this machine from a diff, and nothing from two snapshots', async () => {
    const { place, ldm } = configured(
      `${COMPLETE}\n[profiles.home.diff]\nexclude = ["*.tmp"]\nno-ignore-files = true\n`,
    );
    await ldm(['-p', 'home', 'init']);
    const source = join(place, 'source');
    await ldm(['-p', 'home', 'backup', source, '--exclude', 'left.tmp']);
    expect((await ldm(['-p', 'home', 'diff', 'latest'])).stdout).not.toContain('left.tmp');
    await ldm(['-p', 'home', 'backup', source, '--exclude', 'nothing']);
    const both = await ldm(['-p', 'home', 'diff', 'latest~1', 'latest']);
    expect(both).toMatchObject({ code: 0, stderr: '' });
    expect(both.stdout).toContain('left.tmp');
    const refused = await ldm(['-p', 'home', 'diff', 'latest~1', 'latest', '--exclude', '*.tmp']);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain('only files on this machine can be excluded');
  });

  it('is the one called default, if it exists and none is named', async () => {
    const { file, ldm } = configured(COMPLETE.replaceAll('home', 'default'));
    expect((await ldm(['init'])).stdout).toContain('/repository, not encrypted');
    const { stderr } = await ldm(['-v', 'backup']);
    expect(stderr).toContain(`ldm: using the profile default of ${file}\n`);
  });

  it('gives the password after the environment', async () => {
    const { place, ldm } = configured('[profiles.x]\nrepo = "@/r"\npassword-file = "@/password"\n');
    writeFileSync(join(place, 'password'), 'of the profile\n', { mode: 0o600 });
    expect(await ldm(['-p', 'x', 'init'])).toMatchObject({ code: 0 });
    expect(await ldm(['-p', 'x', 'snapshots'])).toMatchObject({ code: 0 });
    expect(await ldm(['-p', 'x', 'snapshots'], { LDM_PASSWORD: 'another' })).toMatchObject({ code: 12 });
  });

  it('decides on JSON also for errors', async () => {
    const { ldm } = configured('[profiles.x]\nrepo = "@/missing"\njson = true\n');
    const { code, stderr } = await ldm(['-p', 'x', 'snapshots']);
    expect(JSON.parse(stderr)).toMatchObject({ message_type: 'exit_error', code: 10 });
    expect(code).toBe(10);
  });

  it('may have rules although the command line of forget names snapshots', async () => {
    const { ldm } = configured(
      '[profiles.default]\nrepo = "@/r"\n[profiles.default.forget]\nkeep-last = 3\nkeep-size = "1GiB"\n',
    );
    await ldm(['init', '--no-encryption']);
    await ldm(['backup', import.meta.dirname]);
    const typed = await ldm(['forget', 'latest', '--keep-daily', '3']);
    expect([typed.code, typed.stderr]).toEqual([2, expect.stringContaining('either snapshots to delete, or rules')]);
    expect(await ldm(['forget', 'latest'])).toMatchObject({ code: 0, stderr: '' });
    expect((await ldm(['snapshots', '--json'])).stdout).not.toContain('"message_type":"snapshot"');
  });

  it('gives the destination of a copy', async () => {
    const { ldm } = configured(`${COMPLETE}[profiles.home.copy]\nto = "@/second"\n`);
    expect((await ldm(['-p', 'home', 'copy'])).stderr).toContain('there is no repository at');
  });
});

describe('a configuration file', () => {
  it.each([
    ['x = [', /config.toml:1:\d+: /],
    ['repo = "/x"', 'unknown table or key "repo"'],
    ['[profiles]\nhome = 7', '[profiles] home is not a table'],
    ['[profiles.home]\nrepositry = "/x"', '[profiles.home] repositry is neither an option nor a command of `ldm`'],
    ['[profiles.home]\nrepo = "relative"', '[profiles.home] repo is "relative"'],
    ['[profiles.home]\nrepo = ""', '[profiles.home] repo is empty'],
    ['[profiles.home]\nrepo = ["/a", "/b"]', '[profiles.home] repo must be one value'],
    ['[profiles.home]\nrepo = true', '[profiles.home] repo must be a text or a number'],
    ['[profiles.home]\nprofile = "home"', '[profiles.home] profile is neither an option nor a command of `ldm`'],
    ['[profiles.home]\nquiet = "yes"', '[profiles.home] quiet must be true or false'],
    ['[profiles.home]\nlock-wait = "soon"', '[profiles.home] lock-wait cannot be "soon"'],
    ['[profiles.home.backup]\nexclud = "x"', '[profiles.home.backup] exclud is not an option of `ldm backup`'],
    ['[profiles.home.backup]\npaths = ["data"]', '[profiles.home.backup] paths is "data"'],
    ['[profiles.home.restore]\noverwrite = "maybe"', '[profiles.home.restore] overwrite cannot be "maybe"'],
    ['[profiles.home.check]\nread-data = "7/3"', '[profiles.home.check] read-data cannot be "7/3"'],
    ['[profiles.home.delete]\npaths = ["/x"]', '[profiles.home.delete] paths is not an option of `ldm delete`'],
    [
      '[profiles.home.key.add]\nx = 1',
      '[profiles.home.key.add] x is not an option of `ldm key add`\nKeys are the long',
    ],
    ['[profiles.home.key]\nx = 1', '[profiles.home.key] x is neither an option nor a command of `ldm key`'],
    [
      '[profiles.home.backup]\npaths = "/x"\nstdin-name = "x"',
      '[profiles.home.backup] paths cannot be combined with stdin-name',
    ],
    ['[profiles.home]\ntoString = 1', '[profiles.home] toString is neither an option nor a command'],
    ['[profiles.other]', 'there is no profile home in '],
  ])('with %j is refused', async (toml, expected) => {
    const { file, ldm } = configured(toml);
    const { code, stdout, stderr } = await ldm(['-p', 'home', 'stats']);
    if (expected instanceof RegExp) expect(stderr).toMatch(expected);
    else expect(stderr).toContain(expected);
    expect(stderr).toContain(file);
    expect([code, stdout]).toEqual([2, '']);
  });

  it('may be absent only if no profile is named', async () => {
    const env = { XDG_CONFIG_HOME: memoryDirectory() };
    const named = await runLdm(['-p', 'home', 'stats'], { env });
    expect(named).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no profile home') });
    expect((await runLdm(['stats'], { env })).code).toBe(10);
    const empty = await runLdm(['stats'], { env: { ...env, LDM_PROFILE: '' } });
    expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('LDM_PROFILE is empty') });
  });
});

describe('values', () => {
  it('are those that the command line would give', async () => {
    const { options, commands } = (
      await profileWith(`
      repo = "~/backups"
      verbose = 2
      no-progress = true
      quiet = false
      [backup]
      paths = "~/data"
      exclude = ["a", "b"]
      [check]
      read-data = true
      [forget]
      group-by = ""
      [compact]
      max-unused = 3
      [filter.plan]
      hashes = 7`)
    ).table;
    expect(options).toEqual({
      repo: join(homedir(), 'backups'),
      verbose: 2,
      progress: false,
      quiet: false,
    });
    expect(commands.get('backup')).toMatchObject({
      paths: [join(homedir(), 'data')],
      options: { exclude: ['a', 'b'] },
    });
    expect(commands.get('check')!.options).toEqual({ readData: true });
    expect(commands.get('forget')!.options).toEqual({ groupBy: [] });
    expect(commands.get('compact')!.options).toEqual({ maxUnused: { maxUnusedPercent: 3 } });
    expect(commands.get('filter')!.commands.get('plan')!.options).toEqual({ hashes: 7 });
  });

  it('in the documents are valid', async () => {
    const text = readFileSync(join(import.meta.dirname, '../../../docs/automation.md'), 'utf8');
    const blocks = [...text.matchAll(/^```toml\n([^]*?)^```$/gm)].map((match) => match[1]!);
    expect(blocks.length).toBeGreaterThan(0);
    const program = createProgram(createCommandRunner());
    for (const block of blocks) expect(findFaults(await parseConfig('docs/automation.md', block), program)).toEqual([]);
  });
});
