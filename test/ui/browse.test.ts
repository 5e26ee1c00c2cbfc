import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { packName } from '../../src/core/format/layout.ts';
import { openSnapshot } from '../../src/core/snapshots/open-snapshot.ts';
import type { EntryRow } from '../../src/ui/api/browse.ts';
import { kindOfPack } from '../support/pack-kind.ts';
import { filesOf, makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { keyOf, serveNewest, servePage, write } from './support.ts';

describe('the timeline of a snapshot', () => {
  it('has those of the same host and paths, and begins with the newest one', async () => {
    const repository = await makeTestRepository();
    const page = await servePage(repository.context);
    expect(await page.ask('timeline')).toMatchObject({ id: '', snapshots: [] });
    write(repository, 'file');
    mkdirSync(join(repository.source, 'part'));
    const ids: string[] = [];
    for (const hostname of ['alpha', 'beta', 'alpha', 'alpha', 'beta'])
      ids.push((await repository.backup({ hostname })).snapshotId!);
    ids.push((await repository.backup({ hostname: 'alpha', sources: [join(repository.source, 'part')] })).snapshotId!);
    await page.close();
    const later = await servePage(repository.context);
    const idsOf = async (snapshot: string): Promise<string[]> =>
      (await later.ask('timeline', { snapshot })).snapshots.map(({ id }) => id);
    expect(await later.ask('timeline')).toMatchObject({ id: ids[5], host: 'alpha', snapshots: [{ id: ids[5] }] });
    expect(await idsOf(ids[0]!)).toEqual([ids[0], ids[2], ids[3]]);
    expect(await idsOf(ids[4]!)).toEqual([ids[1], ids[4]]);
  });
});

describe('a directory', () => {
  it('comes in windows that make up what the library lists', async () => {
    const repository = await makeTestRepository();
    for (let number = 0; number < 330; number += 1) write(repository, `file ${number}`, 'x'.repeat(number));
    mkdirSync(join(repository.source, 'in'));
    symlinkSync('file 3', join(repository.source, 'link'));
    await repository.backup();
    const { page, at } = await serveNewest(repository.context);
    const rows: EntryRow[] = [];
    let total = -1;
    while (rows.length !== total) {
      const answer = await page.ask('directory', { ...at('source'), from: `${rows.length}`, limit: '100' });
      expect(answer).toMatchObject({ from: rows.length, entry: { type: 'directory', name: { text: 'source' } } });
      rows.push(...answer.rows);
      ({ total } = answer);
    }
    const snapshot = await openSnapshot(repository.context, { selector: 'latest' });
    let index = 0;
    for await (const { name, type, sizeBytes, mtimeSeconds } of snapshot.entries('source')) {
      const row = rows[index]!;
      expect(row).toMatchObject({ name: { text: name }, type });
      expect(Math.floor(Date.parse(row.time!) / 1000)).toBe(mtimeSeconds);
      expect(row.bytes).toBe(type === 'file' ? sizeBytes : undefined);
      index += 1;
    }
    await snapshot.close();
    expect(index).toBe(332);
    expect(rows.find(({ type }) => type === 'symlink')).toMatchObject({ target: 'file 3', mode: 'lrwxrwxrwx' });
    expect(await page.ask('directory', at(''))).toMatchObject({ total: 1, entry: { type: 'directory' } });
    // However much is asked for.
    expect((await page.ask('directory', { ...at('source'), limit: '999999999' })).rows).toHaveLength(332);
    expect((await page.ask('directory', { ...at('source'), from: '999999999' })).rows).toEqual([]);
  });

  it('may have names of any bytes, which come back unchanged', async () => {
    const repository = await makeTestRepository();
    const names = [
      '<img src=x onerror=alert(1)>',
      'with\nline\r\tand "quotes"',
      'evil\u{202e}txt.exe',
      '${x}`y`$(z)',
      "'; DROP",
      '-rf',
      '...',
      '%2e%2e',
      'ünï',
    ].map((name) => Buffer.from(name).toString('latin1'));
    names.push('bytes \xff\xfe\x80', '\xc3\x28', '\x01\x7f');
    for (const name of names) write(repository, Buffer.from(name, 'latin1'), name);
    await repository.backup();
    const { page, at } = await serveNewest(repository.context);
    const { rows } = await page.ask('directory', at('source'));
    expect(rows.map(({ name }) => Buffer.from(name.key, 'base64url').toString('latin1'))).toEqual(names.toSorted());
    for (const name of names) {
      const { entry } = await page.ask('directory', at(`source/${name}`));
      expect(entry).toMatchObject({ name: { key: keyOf(name) }, type: 'file', bytes: Buffer.byteLength(name) });
    }
    expect(page.failures).toEqual([]);
  });

  it('has a tree of only its directories, with the damaged ones in it', async () => {
    const repository = await makeTestRepository();
    mkdirSync(join(repository.source, 'damaged/deep'), { recursive: true });
    write(repository, 'damaged/file');
    await repository.backup();
    const packs = filesOf(repository, 'packs');
    mkdirSync(join(repository.source, 'sound/deep'), { recursive: true });
    write(repository, 'sound/file');
    await repository.backup();
    spoilTrees(repository, packs);
    const { page, snapshot, at } = await serveNewest(repository.context);
    const open = ['', 'source', 'source/sound', 'source/damaged', 'source/absent', 'source/sound/file'];
    const { nodes } = await page.ask('tree', { snapshot, open: open.map(keyOf).join(',') });
    expect(nodes.map(({ key, directories, total }) => [key, directories.map(({ text }) => text), total])).toEqual([
      [keyOf(''), ['source'], 1],
      [keyOf('source'), ['damaged', 'sound'], 2],
      [keyOf('source/sound'), ['deep'], 1],
      [keyOf('source/damaged'), [], 0],
    ]);
    expect(nodes.map(({ error }) => error !== undefined)).toEqual([false, false, false, true]);
    await expect(page.ask('directory', at('source/damaged'))).rejects.toThrow('500');
    await expect(page.ask('ticket', { ...at('source/damaged'), format: 'tar' })).rejects.toThrow('500');
    expect(await page.ask('directory', at('source/sound'))).toMatchObject({ total: 2 });
    expect(page.failures).toEqual([]);
  });
});

function spoilTrees(repository: TestRepository, packs: readonly string[]): void {
  const place = join(repository.directory, 'repository');
  const keys = join(place, 'keys');
  const keyFile = existsSync(keys) ? readFileSync(join(keys, filesOf(repository, 'keys')[0]!)) : undefined;
  for (const id of packs) {
    const path = join(place, packName(id));
    const bytes = readFileSync(path);
    if (kindOfPack(bytes, keyFile) !== 'tree') continue;
    chmodSync(path, 0o600);
    writeFileSync(path, bytes.fill(0, 40, 60));
  }
}

describe('a question about a path', () => {
  const QUESTIONS = ['directory', 'preview', 'difference', 'ticket'] as const;

  it('finds nothing outside of the snapshot, and none of other repositories', async () => {
    const repository = await makeTestRepository();
    write(repository, 'file');
    await repository.backup();
    const other = await makeTestRepository();
    write(other, 'theirs');
    await other.backup();
    const { page, snapshot, at } = await serveNewest(repository.context);
    const theirs = (await serveNewest(other.context)).snapshot;
    const ask = async (name: (typeof QUESTIONS)[number], parameters: Record<string, string>): Promise<unknown> =>
      await page.ask(name, { before: parameters['snapshot']!, format: 'file', ...parameters });
    const outside = ['..', '../..', 'source/..', 'source/../source/file', '/', '/etc/passwd', '../../../etc/passwd'];
    for (const path of [
      ...outside,
      `${repository.source}/../../etc/passwd`,
      'source/file/..',
      'source/\0',
      'source\\file',
    ])
      for (const name of QUESTIONS.filter((each) => path !== '/' || each !== 'directory'))
        await expect(ask(name, at(path)), `${name} ${path}`).rejects.toThrow(/40[04]/);
    for (const name of QUESTIONS) {
      for (const path of ['../etc', 'a+b', 'a/b', '%00', 'ä'])
        await expect(ask(name, { snapshot, path }), `${name} ${path}`).rejects.toThrow('400');
      await expect(ask(name, { snapshot: theirs, path: keyOf('source/theirs') }), name).rejects.toThrow('404');
      for (const id of ['latest', snapshot.slice(0, 8), '', '../config'])
        await expect(ask(name, { ...at('source/file'), snapshot: id }), `${name} ${id}`).rejects.toThrow('400');
    }
    await expect(page.ask('tree', { snapshot, open: ','.repeat(100) })).rejects.toThrow('400');
    expect(await page.ask('versions', at('../../../etc/passwd'))).toEqual({ versions: [], total: 0 });
    expect(await page.ask('directory', at(`${repository.source}/file`))).toMatchObject({ entry: { type: 'file' } });
    expect(page.failures).toEqual([]);
  });
});
