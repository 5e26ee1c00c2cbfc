import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { NoticePrinter } from '../../src/console/output/notice-printer.ts';
import type { Output } from '../../src/console/output/output.ts';
import { sourceError } from '../../src/core/files/paths/path-failures.ts';
import { byteStringFromText } from '../../src/core/util/byte-string.ts';
import { missingPackageError } from '../../src/core/util/optional-package.ts';
import { makeScenario } from './scenario.ts';
import type { Scenario } from './scenario.ts';

describe('messages', () => {
  it('name a file once', () => {
    const lines: string[] = [];
    const output = { json: false, quiet: false, problem: (text: string) => lines.push(text) };
    const printer = new NoticePrinter(output as unknown as Output, 0, '/repository');
    const path = byteStringFromText('/home/me/a b');
    const { message } = sourceError({ operation: 'read', path, cause: 'the disk failed' });
    printer.print({ kind: 'source-problem', path, during: 'read', message });
    printer.print({ kind: 'source-problem', path, during: 'changed', message: 'changed while it was read' });
    const unnamed = { path: byteStringFromText(''), message: 'cannot import an entry: it has no name' };
    printer.print({ kind: 'source-problem', during: 'import', ...unnamed });
    expect(lines).toEqual([
      'ldm: cannot read /home/me/a b: the disk failed',
      'ldm: /home/me/a b: changed while it was read',
      'ldm: cannot import an entry: it has no name',
    ]);
  });

  it('name the repository if there are two', () => {
    const lines: string[] = [];
    const output = { json: false, quiet: false, problem: (text: string) => lines.push(text) };
    const printer = new NoticePrinter(output as unknown as Output, 0, '/repository');
    printer.print({ kind: 'lock-wait', holder: 'process 1', place: '/mnt/b' });
    printer.print({ kind: 'repository-damaged', unreadableCount: 2, place: '/mnt/c' });
    expect(lines).toEqual([
      'ldm: /mnt/b: waiting for the lock held by process 1',
      expect.stringMatching(/^ldm: warning: \/mnt\/c: the repository is damaged: 2 /),
    ]);
  });

  it('list several packages with commas', () => {
    const { message } = missingPackageError('this', ['vega', 'lmdb', 'dejavu-fonts-ttf'], undefined);
    expect(message).toBe('this needs the packages vega, lmdb, and dejavu-fonts-ttf, which cannot be loaded');
  });

  it('say with what a backup was compared', async () => {
    const { run } = await makeScenario();
    expect((await run(['backup', '-v', 'source'])).stdout).toContain('\nno earlier snapshot to compare with\n');
    expect((await run(['backup', '-v', 'source'])).stdout).toMatch(/^compared with snapshot [0-9a-f]{8}$/m);
  });
});

/** Damages every file of a directory of the repository in the middle. */
function damage({ repository }: Scenario, directory: string): void {
  for (const name of readdirSync(join(repository, directory), { recursive: true, encoding: 'utf8' })) {
    if (name.length < 60) continue;
    const path = join(repository, directory, name);
    const bytes = readFileSync(path);
    bytes[Math.floor(bytes.length / 2)]! ^= 0xff;
    writeFileSync(path, bytes);
  }
}

describe('repair', () => {
  it('lists what to do, in the same words before and after', async () => {
    const scenario = await makeScenario();
    const { run } = scenario;
    await run(['backup', 'source']);
    damage(scenario, 'snapshots');
    const repairs = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('  '));
    const planned = await run(['repair', '--dry-run']);
    expect(planned.stdout).toContain('Repairs to be made:\n');
    expect(repairs(planned.stdout)).toEqual([
      expect.stringMatching(/^ {2}set aside snapshots\/[0-9a-f]+, which is damaged$/),
      expect.stringMatching(/^ {2}write snapshots\/[0-9a-f]+ again from its copy or a checkpoint$/),
      '  write a new checkpoint from the segments and snapshots',
    ]);
    const done = await run(['repair']);
    expect(done.stdout).toContain('Repairs made:\n');
    expect(repairs(done.stdout)).toEqual(repairs(planned.stdout));
  });

  it('and check say what helps where nothing can be repaired', async () => {
    const scenario = await makeScenario();
    const { run } = scenario;
    await run(['backup', 'source']);
    damage(scenario, 'packs');
    const advice =
      /comes back with the next backup of the same files, .* Then delete the snapshots that `ldm check` still names\.$/m;
    expect((await run(['check', '--read-data'])).stdout).toMatch(advice);
    expect(await run(['repair'])).toMatchObject({ code: 4, stdout: expect.stringMatching(advice) as string });
    await run(['backup', 'source']);
    expect(await run(['check', '--read-data'])).toMatchObject({ code: 0 });
  });
});

it('check lists the affected files in order', async () => {
  const scenario = await makeScenario();
  const { source, repository, run, runJson } = scenario;
  const names = Array.from({ length: 30 }, (_, index) => `file-${String(index).padStart(2, '0')}`);
  for (const name of names) writeFileSync(join(source, name), randomBytes(2500).toString('hex'));
  await run(['backup', 'source']);
  // The same chunks, in the opposite order of names.
  for (const [index, name] of names.entries()) renameSync(join(source, name), join(source, `moved-${99 - index}`));
  await run(['backup', 'source']);
  const packs = join(repository, 'packs');
  const files = readdirSync(packs, { recursive: true, encoding: 'utf8' }).map((name) => join(packs, name));
  // The pack of the files, and not that of the trees.
  const pack = files.toSorted((a, b) => statSync(b).size - statSync(a).size).at(0)!;
  const bytes = readFileSync(pack);
  bytes.fill(0, 100, Math.floor(bytes.length / 2));
  writeFileSync(pack, bytes);
  const { messages } = await runJson(['check', '--read-data']);
  const affected = messages.flatMap(({ paths = [] }) => paths as { snapshot: string; path: string }[]);
  const snapshots = [...new Set(affected.map(({ snapshot }) => snapshot))];
  expect(snapshots).toHaveLength(2);
  for (const id of snapshots) {
    const paths = affected.filter(({ snapshot }) => snapshot === id).map(({ path }) => path);
    expect(paths.length).toBeGreaterThan(10);
    expect(paths).toEqual(paths.toSorted());
  }
});
