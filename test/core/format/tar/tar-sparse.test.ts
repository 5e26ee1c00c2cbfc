import { describe, expect, it } from 'vitest';

import { TarReader } from '../../../../src/core/format/tar/tar-reader.ts';
import type { TarMember } from '../../../../src/core/format/tar/tar-member.ts';
import { bs, extendedHeader, oddMember, sampleArchive } from '../../../support/tar-archive.ts';

async function membersOf(bytes: readonly Buffer[]): Promise<TarMember[]> {
  const reader = new TarReader([...bytes, sampleArchive([{ path: 'last' }])]);
  const members: TarMember[] = [];
  for (let next = await reader.next(); next !== undefined; next = await reader.next()) members.push(next);
  return members;
}

/** A sparse file in GNU's format 1.0 whose content starts with a map. */
function withMap(map: string, data: string, records: readonly (readonly [string, string])[] = []): Buffer[] {
  const all = [
    ...records,
    ['GNU.sparse.major', '1'],
    ['GNU.sparse.minor', '0'],
    ['GNU.sparse.name', 'f'],
    ['GNU.sparse.realsize', '10737418244'],
  ] as const;
  const padded = map.padEnd(Math.ceil(map.length / 512) * 512, '\0');
  return [
    extendedHeader(all.map(([key, value]) => [key, bs(value)])),
    oddMember({ path: 'GNUSparseFile/f', content: padded + data }, {}),
  ];
}

/** A sparse file in GNU's oldest format, whose map has these numbers in the header and in the next block. */
function withOldMap(numbers: string, more: string, realSize: string): Buffer[] {
  const fields = { type: 'S', gnuSparse: numbers, gnuIsExtended: '\x01', gnuRealSize: realSize, size: '4' };
  const header = oddMember({ path: 'f' }, { magic: 'ustar  ', ...fields });
  return [header, Buffer.from(more.padEnd(512, '\0'), 'latin1'), Buffer.from('data'.padEnd(512, '\0'))];
}

const dataRuns = [
  { offset: 4096, lengthBytes: 4 },
  { offset: 10_737_418_240, lengthBytes: 4 },
];
const sparse = { path: 'f', sizeBytes: 10_737_418_244, dataRuns };

describe('the map of a sparse file', () => {
  it.each([
    [
      'comments, as libarchive reads it',
      withMap(`#!gnu\n2\n#${'x'.repeat(600)}\n4096\n4\n# y\n10737418240\n4\n`, 'onetwo--'),
    ],
    [
      'the size with holes as the size of its content, as old versions of bsdtar wrote it',
      withMap('2\n4096\n4\n10737418240\n4\n', 'onetwo--', [['size', '10737418244']]),
    ],
  ])('may have %s', async (_, bytes) => {
    expect(await membersOf(bytes)).toMatchObject([sparse, { path: 'last' }]);
  });

  it.each([
    ['no line', 'x'.repeat(5000)],
    ['more lines than the content', '2\n#\n'],
    ['a length below 0', '1\n0\n-5\n'],
  ])('is not read on behind the content if it has %s', async (_, map) => {
    const members = await membersOf(withMap(map, ''));
    expect(members).toMatchObject([{ problem: 'the map of a sparse file is damaged' }, { path: 'last' }]);
  });

  it('may go on in blocks after the header', async () => {
    const bytes = withOldMap('00000001000 00000000002 ', '00000002000 00000000002 ', '2002');
    const runs = [512, 1024].map((offset) => ({ offset, lengthBytes: 2 }));
    expect(await membersOf(bytes)).toMatchObject([{ path: 'f', sizeBytes: 1026, dataRuns: runs }, { path: 'last' }]);
  });

  it.each([
    ['the size', '00000001000 00000000002 ', '00000002000 00000000002 ', '20x', '"20x" is not a number'],
    ['the header', '0000000x000 00000000002 ', '00000002000 00000000002 ', '2000', '"0000000x000" is not a number'],
    [
      'the block after it',
      '00000001000 00000000002 ',
      '0000000000x 00000000002 ',
      '2000',
      '"0000000000x" is not a number',
    ],
  ])('costs only its file if it is not a number in %s', async (_, numbers, more, realSize, problem) => {
    const members = await membersOf(withOldMap(numbers, more, realSize));
    expect(members).toMatchObject([{ path: 'f', problem }, { path: 'last' }]);
  });
});
