import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { findHistory } from '../../src/verbs/history/history.ts';
import { CountingBackend } from '../support/counting-backend.ts';
import { createPrng } from '../support/prng.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import { keyOf, serveNewest, servePage, write } from './support.ts';

const MIB = 1024 * 1024;

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
    const { page, at } = await serveNewest(repository.context);
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
    const { page, snapshot } = await serveNewest({ ...repository.context, backend });
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
    const { page, at } = await serveNewest(repository.context);
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
