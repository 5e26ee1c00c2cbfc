import { describe, expect, it } from 'vitest';

import { findingFields, formatFindings } from '../../../src/cli/reports/finding-lines.ts';
import type { Finding } from '../../../src/operations/check.ts';
import { byteStringFromText } from '../../../src/util/byte-string.ts';

const snapshot = 'ab'.repeat(32);

function finding(fields: Partial<Finding>): Finding {
  return { severity: 'error', kind: 'chunk-missing', message: 'a chunk is missing', ...fields };
}

describe('formatFindings', () => {
  it('groups by kind, errors before warnings', () => {
    const lines = formatFindings([
      finding({ severity: 'warning', kind: 'checkpoint-damaged', message: 'old' }),
      finding({ message: 'one' }),
      finding({ kind: 'pack-damaged', message: 'bad', file: 'packs/aa/aabb' }),
      finding({ message: 'two' }),
    ]);
    expect(lines).toEqual([
      'error: chunk-missing (2)',
      '  one',
      '  two',
      'error: pack-damaged (1)',
      '  packs/aa/aabb: bad',
      'warning: checkpoint-damaged (1)',
      '  old',
    ]);
  });

  it('names the snapshots and files that are affected, and how many more there are', () => {
    const paths = Array.from({ length: 25 }, (_, index) => ({ snapshot, path: byteStringFromText(`f${index}\u001b`) }));
    const text = formatFindings([finding({ snapshots: [snapshot], paths, pathCount: 100 })]).join('\n');
    expect(text).toContain('affects snapshot abababab\n');
    expect(text).toContain('abababab:f19\\x1b\n');
    expect(text).not.toContain('f20');
    expect(text).toContain('... and 80 more');
  });
});

describe('findingFields', () => {
  it('keeps every path for a script', () => {
    const fields = findingFields(finding({ paths: [{ snapshot, path: byteStringFromText('a') }], pathCount: 1 }));
    expect(fields).toMatchObject({
      severity: 'error',
      kind: 'chunk-missing',
      paths: [{ snapshot, path: 'a' }],
      path_count: 1,
    });
  });
});
