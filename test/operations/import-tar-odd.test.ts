import { describe, expect, it } from 'vitest';

import { encodePaxRecords } from '../../src/format/tar/pax-records.ts';
import { writeChecksum } from '../../src/format/tar/tar-fields.ts';
import { importTar } from '../../src/operations/import-tar.ts';
import { contents, entryAt } from '../support/imported-archive.ts';
import { bs, encodeSample, sampleArchive } from '../support/tar-archive.ts';
import { makeTestRepository } from '../support/test-repository.ts';

describe('an archive', () => {
  it('that has odd members keeps the others', async () => {
    const repository = await makeTestRepository();
    const odd = ['0', '0', '0', '0'].map((_, i) => encodeSample({ path: `odd${i}`, content: 'x'.repeat(700) }));
    const patch = (block: Buffer, offset: number, text: string): void => {
      block.write(text, offset, 'latin1');
      writeChecksum(block);
    };
    const header = (index: number): Buffer => odd[index]!.subarray(odd[index]!.length - 1024 - 512, -1024);
    patch(header(0), 108, '\xff\xff\xff\xff\xff\xff\xff\xfe');
    patch(header(1), 108, '\xff\xff\xff\xff\xff\xff\xff\xff');
    patch(header(2), 100, 'rw-r--r');
    patch(header(3), 4, '/');
    const pax = encodePaxRecords([['mtime', bs('nan')]]);
    const extended = encodeSample({ path: 'pax', content: pax.toString('latin1') });
    patch(extended.subarray(extended.length - 1024, -512), 156, 'x');
    const plain = encodeSample({ path: 'plain', mtime: { seconds: 5, nanoseconds: 0 }, content: 'y' });
    const last = sampleArchive([{ path: 'last', content: 'z' }]);
    const archive = [Buffer.concat([...odd.map((member) => member.subarray(-1536)), extended, plain, last])];
    const { problems } = await importTar(repository.context, { archive });
    expect(problems.map(({ message }) => message)).toEqual([
      'cannot import odd1: -1 is not the number of an owner',
      'cannot import odd2: "rw-r--r" is not a number',
      'cannot import odd3/: it has the name of a directory, but is a file',
      'cannot import plain: "nan" is not a time',
    ]);
    expect(await contents(repository)).toEqual({ odd0: 'x'.repeat(700), last: 'z' });
    expect(await entryAt(repository, 'odd0')).toMatchObject({ uid: 2 ** 32 - 2 });
    await repository.expectClean();
  });

  it('of endless zeros is empty, and one with endless zeros behind it ends', async () => {
    const repository = await makeTestRepository();
    const block = Buffer.alloc(1024 * 1024);
    const zeros = function* (beginning: Buffer): Generator<Buffer> {
      yield beginning;
      for (;;) yield block;
    };
    const importing = importTar(repository.context, { archive: zeros(Buffer.alloc(0)) });
    await expect(importing).rejects.toThrow('the archive has no entries that can be imported');
    await importTar(repository.context, { archive: zeros(sampleArchive([{ path: 'a', content: 'x' }])) });
    expect(await contents(repository)).toEqual({ a: 'x' });
  });
});
