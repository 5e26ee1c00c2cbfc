import { expect, test } from 'vitest';
import { CorruptDataError } from '../../../src/core/errors.ts';
import { chunkKindOfCode, codeOfChunkKind } from '../../../src/core/format/chunk-kind.ts';

test('kinds have codes, and other codes are damage', () => {
  expect((['data', 'tree'] as const).map((kind) => chunkKindOfCode(codeOfChunkKind(kind), 'sample'))).toEqual([
    'data',
    'tree',
  ]);
  for (const code of [0, 3, 255]) expect(() => chunkKindOfCode(code, 'sample')).toThrow(CorruptDataError);
});
