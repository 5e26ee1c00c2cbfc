import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { inSoak } from '../support/soak.ts';
import { makeScenario } from './scenario.ts';
import { startLdm } from './start-ldm.ts';

// oxlint-disable-next-line no-control-regex -- escape sequences are what this is about
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/;

describe('output in a pipe', () => {
  it('is plain: no progress, no escape sequences, nothing on stderr', async () => {
    const { run } = await makeScenario();
    for (const args of [['backup', 'source'], ['snapshots'], ['stats'], ['check'], ['ls', '-l', 'latest']]) {
      const { code, stdout, stderr } = await run(args);
      expect(code, args[0]).toBe(0);
      expect(stderr, args[0]).toBe('');
      expect(stdout, args[0]).not.toMatch(CONTROL);
    }
  });

  it('says what a backup stored', async () => {
    const { run } = await makeScenario();
    const { stdout } = await run(['backup', 'source']);
    expect(stdout).toMatch(/^files +2 new, 0 changed, 0 removed, 0 unmodified$/m);
    expect(stdout).toMatch(/^in total +2 files, 9 B$/m);
    expect(stdout).toMatch(/^added +.* stored$/m);
    expect(stdout).toMatch(/^snapshot [0-9a-f]{8} saved in \d+\.\d s$/m);
  });

  it('is nothing at all with --quiet when all is well, and only the problem when not', async () => {
    const { run } = await makeScenario();
    expect(await run(['-q', 'backup', 'source'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(await run(['check', '-q'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
    const incomplete = await run(['backup', '--quiet', 'source', 'absent']);
    expect(incomplete.code).toBe(3);
    expect(incomplete.stderr).toMatch(/^ldm: .*absent: .*\n$/);
  });

  it('lists twenty problems and counts the rest, unless all are asked for', async () => {
    const { run } = await makeScenario();
    const missing = Array.from({ length: 25 }, (_, index) => `absent-${index}`);
    const { code, stderr, stdout } = await run(['backup', 'source', ...missing]);
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toHaveLength(21);
    expect(lines.slice(0, 20).every((line) => /^ldm: absent-\d+: /.test(line))).toBe(true);
    expect(lines[20]).toBe('ldm: ... and 5 more (-v lists them all)');
    expect(stdout).toContain('25 problems');
    expect(code).toBe(3);
    expect((await run(['backup', '-v', 'source', ...missing])).stderr.match(/^ldm: absent/gm)).toHaveLength(25);
  });

  it('names the next step after init, and the plan of the filter with -v', async () => {
    const { run, directory } = await makeScenario();
    const plain = await run(['init', '--no-encryption', '-r', 'new place']);
    const place = join(directory, 'new place');
    expect(plain.stdout).toMatch(/^created repository [0-9a-f]{10} at .*\nnext: [^\n]*\n$/);
    expect(plain.stdout).toContain(`at ${place}, not encrypted\nnext: ldm -r '${place}' backup <path>\n`);
    const verbose = await run(['init', '--no-encryption', '-v', '-r', join(directory, 'b')]);
    expect(verbose.stdout).toMatch(/^ +positions \(m\) +[\d,]+$/m);
  });

  it('of stats is data, space, the false positive rate and the chains as bars; the rest with -v', async () => {
    const { run } = await makeScenario();
    await run(['backup', 'source']);
    const { stdout } = await run(['stats']);
    const headings = stdout.split('\n').filter((line) => /^\S/.test(line));
    expect(headings).toEqual([
      'Data',
      'Space',
      'LDM filter',
      expect.stringMatching(/^Chains by/),
      expect.stringMatching(/^Chains as saved/),
      expect.stringMatching(/^Chains as walked/),
    ]);
    expect(stdout).toMatch(/^ +false positive rate +\S+ % predicted, none of 262,144 \(below 0\.0012 %\) measured$/m);
    expect(stdout).toMatch(/^ +1 +\d+ +█+$/m);
    const verbose = /^ +(?:positions \(m\)|hash functions|counters|memory)/gm;
    expect(stdout).not.toMatch(verbose);
    expect((await run(['stats', '-v'])).stdout.match(verbose)).toHaveLength(4);
    expect(stdout).toMatch(/by link position.* longest \d/);
    expect(stdout).toMatch(/as walked.* longest \d/);
  });

  it('escapes names that would drive the terminal', async () => {
    const { run, source } = await makeScenario();
    writeFileSync(join(source, 'evil\u001b[2J\nname'), 'x');
    mkdirSync(join(source, 'dir\u0007'));
    await run(['backup', 'source']);
    const { stdout } = await run(['ls', 'latest']);
    expect(stdout).not.toMatch(CONTROL);
    expect(stdout).toContain('evil\\x1b[2J\\x0aname\n');
  });

  it('ends quietly when its reader has seen enough', async () => {
    const { run, source, repository, directory } = await makeScenario();
    // Megabytes of output from long paths: the listing takes long enough to notice that nobody reads it.
    const deep = join(source, ...Array.from({ length: 15 }, () => 'x'.repeat(240)));
    mkdirSync(deep, { recursive: true });
    const fileCount = inSoak(4000, 1000);
    for (let index = 0; index < fileCount; index++) writeFileSync(join(deep, `${index}`), '');
    await run(['backup', 'source']);
    const listing = startLdm(['ls', 'latest', '--json', '-r', repository], { home: directory });
    await listing.stdoutMatching(/\n/);
    listing.child.stdout!.destroy();
    expect(await listing.stderrMatching(/^/)).toBe('');
    expect(await listing.ended).toEqual({ code: 0, signal: null });
  });
});

describe('snapshot names', () => {
  it.each([
    ['latest', 1, /^ldm: latest does not exist: there are no snapshots$/m],
    ['latest~3', 1, /^ldm: latest~3 does not exist: there are no snapshots$/m],
    ['abcdef', 1, /no snapshot id begins with abcdef/],
    ['not-an-id', 2, /does not name a snapshot/],
  ])('%s in an empty repository ends with exit %d and a hint', async (selector, expectedCode, expected) => {
    const { run } = await makeScenario();
    const { code, stdout, stderr } = await run(['ls', selector]);
    expect(stderr).toMatch(expected);
    expect(stderr).toMatch(/ldm (snapshots|backup)/);
    expect(stderr).not.toContain(' at ');
    expect(stdout).toBe('');
    expect(code).toBe(expectedCode);
  });

  it('are refused when they fit several', async () => {
    const { run, runJson, repository } = await makeScenario();
    await run(['backup', 'source']);
    const { messages } = await runJson(['snapshots']);
    const id = messages[0]!['id'] as string;
    const other = id.slice(0, 4).padEnd(64, id.endsWith('0') ? '1' : '0');
    writeFileSync(join(repository, 'snapshots', other), 'damaged');
    const { code, stderr } = await run(['ls', id.slice(0, 4)]);
    expect(stderr).toMatch(/matches several snapshots: [^\n]*\nGive more digits/);
    expect(stderr).toMatch(new RegExp(`${id.slice(0, 12)} of 20\\d\\d-.*${other.slice(0, 12)} \\(damaged\\)`));
    expect(code).toBe(1);
  });
});
