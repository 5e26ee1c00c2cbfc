import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { packName } from '../../src/core/format/layout.ts';
import { openSnapshot } from '../../src/core/snapshots/open-snapshot.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import type { EntryRow } from '../../src/ui/api/browse.ts';
import { findHistory } from '../../src/verbs/history/history.ts';
import { CountingBackend } from '../support/counting-backend.ts';
import { kindOfPack } from '../support/pack-kind.ts';
import { createPrng } from '../support/prng.ts';
import { filesOf, makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { servePage } from './support.ts';
import type { ServedPage } from './support.ts';

const MIB = 1024 * 1024;

/** The key of a path, of which each character is a byte. */
function keyOf(path: string): string {
  return Buffer.from(path, 'latin1').toString('base64url');
}

function write({ source }: TestRepository, name: string | Buffer, content: string | Uint8Array = 'content'): void {
  writeFileSync(Buffer.concat([Buffer.from(`${source}/`), Buffer.from(name as string)]), content);
}

async function newestOf(page: ServedPage): Promise<string> {
  return (await page.ask('timeline')).id;
}

/** Asks about a path in the newest snapshot. */
async function serveNewest({ context }: TestRepository) {
  const page = await servePage(context);
  const snapshot = await newestOf(page);
  return { page, snapshot, at: (path: string) => ({ snapshot, path: keyOf(path) }) };
}

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
    const { page, at } = await serveNewest(repository);
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
    const { page, at } = await serveNewest(repository);
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
    const { page, snapshot, at } = await serveNewest(repository);
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
    const { page, snapshot, at } = await serveNewest(repository);
    const theirs = await newestOf(await servePage(other.context));
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

describe('the versions of a path', () => {
  it('are those that `ldm history` finds on the host, and say which one is shown', async () => {
    const repository = await makeTestRepository();
    const ids: string[] = [];
    for (const [number, content] of ['1', '22', '22', undefined, '22', '55555'].entries()) {
      rmSync(join(repository.source, 'file'), { force: true });
      if (content !== undefined) write(repository, 'file', content);
      const hostname = number === 1 ? 'beta' : 'alpha';
      ids.push((await repository.backup({ hostname })).snapshotId!);
    }
    const page = await servePage(repository.context);
    const path = `${repository.source}/file`;
    const asked = { path: keyOf('source/file'), snapshot: ids[4]! };
    const { versions, total } = await page.ask('versions', asked);
    const found = await findHistory(repository.context, { path, filter: { hosts: ['alpha'] } });
    const expected = found.versions.map(({ listing, entry, snapshotCount }) => [
      listing.id,
      entry?.sizeBytes,
      snapshotCount,
    ]);
    expect(versions.map(({ snapshot, entry, snapshots }) => [snapshot, entry?.bytes, snapshots])).toEqual(
      expected.reverse(),
    );
    expect(total).toBe(5);
    expect(versions.filter(({ isShown }) => isShown)).toMatchObject([{ snapshot: ids[4] }]);
    const inOther = await page.ask('versions', { path: keyOf(path), snapshot: ids[1]! });
    expect(inOther.versions).toMatchObject([{ snapshot: ids[1], isShown: true }]);
  });
});

describe('a preview', () => {
  it('says as what a file can be shown, by its content', async () => {
    const repository = await makeTestRepository();
    const files: Readonly<Record<string, readonly [string | Uint8Array, object]>> = {
      text: ['one\ntwo\n', { kind: 'text', text: 'one\ntwo\n', shownBytes: 8 }],
      'latin text': [
        Buffer.from('Gr\xfc\xdfe aus der Stadt', 'latin1'),
        { kind: 'text', text: 'Gr\ufffd\ufffde aus der Stadt' },
      ],
      'utf-16': [Buffer.from('\ufeffwords', 'utf16le'), { kind: 'text', text: 'words' }],
      'page.html': ['<!doctype html><script>alert(1)</script><svg/>', { kind: 'text' }],
      'drawing.svg': [
        '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>',
        { kind: 'picture', type: 'image/svg+xml' },
      ],
      'no drawing.svg': ['<html><script>alert(1)</script></html>', { kind: 'text' }],
      'png.txt': ['\u{89}PNG\r\n\u{1a}\n', { kind: 'picture', type: 'image/png' }],
      jpeg: [Buffer.from('ffd8ffe000104a464946', 'hex'), { kind: 'picture', type: 'image/jpeg' }],
      'not.png': [Buffer.from([0, 1, 2, 3]), { kind: 'binary' }],
      noise: [createPrng(1).bytes(5000), { kind: 'binary' }],
      paper: ['%PDF-1.7\n\0', { kind: 'pdf' }],
    };
    for (const [name, [content]] of Object.entries(files))
      write(
        repository,
        name,
        typeof content === 'string' && name === 'png.txt' ? Buffer.from(content, 'latin1') : content,
      );
    await repository.backup();
    const { page, at } = await serveNewest(repository);
    for (const [name, [, expected]] of Object.entries(files))
      expect(await page.ask('preview', at(`source/${name}`)), name).toMatchObject(expected);
    await expect(page.ask('preview', at('source'))).rejects.toThrow('400');
  });

  it('of a large text has its first 64 KiB, and reads no more than they need', async () => {
    const repository = await makeTestRepository();
    write(
      repository,
      'large',
      Buffer.from(
        createPrng(2)
          .bytes(12 * MIB)
          .map((byte) => 33 + (byte % 94)),
      ),
    );
    write(repository, 'cut', `x${'ä'.repeat(40_000)}`);
    await repository.backup();
    const backend = new CountingBackend(repository.context.backend);
    const page = await servePage({ ...repository.context, backend });
    const snapshot = await newestOf(page);
    const before = backend.bytesReadIn('packs');
    const preview = await page.ask('preview', { snapshot, path: keyOf('source/large') });
    expect(preview).toMatchObject({ kind: 'text', shownBytes: 65_536 });
    expect(preview.text).toHaveLength(65_536);
    expect(backend.bytesReadIn('packs') - before).toBeLessThan(6 * MIB);
    // Not with half of a character at its end.
    expect((await page.ask('preview', { snapshot, path: keyOf('source/cut') })).text).toBe(`x${'ä'.repeat(32_767)}`);
    expect(
      (await page.ask('difference', { snapshot, before: snapshot, path: keyOf('source/large') })).refusal,
    ).toContain('2 MiB');
  });
});

describe('the difference of two versions', () => {
  it('has what changed, also for files that have come or gone or are no texts', async () => {
    const repository = await makeTestRepository();
    const lines = Array.from({ length: 20 }, (_, number) => `line ${number}`);
    write(repository, 'text', `${lines.join('\n')}\n`);
    write(repository, 'many', 'a\n'.repeat(5000));
    write(repository, 'binary', Buffer.from([0, 1]));
    const before = (await repository.backup()).snapshotId!;
    write(repository, 'text', `${lines.with(9, 'changed').join('\n')}\nmore`);
    write(repository, 'many', 'a\n'.repeat(5001));
    write(repository, 'new', 'text');
    await repository.backup();
    const { page, at } = await serveNewest(repository);
    const differenceOf = async (name: string) => await page.ask('difference', { ...at(`source/${name}`), before });
    const { hunks } = await differenceOf('text');
    expect(hunks).toEqual([
      {
        before: 7,
        after: 7,
        lines: [
          ' line 6\n',
          ' line 7\n',
          ' line 8\n',
          '-line 9\n',
          '+changed\n',
          ' line 10\n',
          ' line 11\n',
          ' line 12\n',
        ],
      },
      { before: 18, after: 18, lines: [' line 17\n', ' line 18\n', ' line 19\n', '+more'] },
    ]);
    expect((await differenceOf('many')).refusal).toContain('5,000 lines');
    expect((await differenceOf('binary')).refusal).toContain('not a text');
    await expect(differenceOf('new')).rejects.toThrow('404');
    await expect(page.ask('difference', { ...at('source'), before })).rejects.toThrow('400');
  });
});

it('nothing that is asked makes a deletion or a compaction wait, and it is noticed', async () => {
  const repository = await makeTestRepository();
  write(repository, 'file', 'old');
  await repository.backup();
  write(repository, 'file', 'new');
  await repository.backup();
  const page = await servePage(repository.context);
  const { snapshots, id } = await page.ask('timeline');
  const path = keyOf('source/file');
  const [old] = snapshots;
  expect((await page.ask('preview', { snapshot: old!.id, path })).text).toBe('old');
  await deleteSnapshots(repository.context, { selectors: [old!.id] });
  await compact(repository.context);
  expect((await page.ask('preview', { snapshot: id, path })).text).toBe('new');
});
