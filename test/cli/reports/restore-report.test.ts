import { describe, expect, it } from 'vitest';

import type { Output } from '../../../src/cli/output.ts';
import { reportRestore } from '../../../src/cli/reports/restore-report.ts';

function remarksOf(counts: {
  readonly filesRestored: number;
  readonly directoriesRestored: number;
  readonly othersRestored: number;
  readonly filesMended?: number;
}): string[] {
  const remarks: string[] = [];
  const output = { message: () => undefined, remark: (text: string) => void remarks.push(text) } as unknown as Output;
  const rest = {
    filesUnchanged: 0,
    filesMended: 0,
    filesKept: 0,
    bytesRestored: 0,
    problems: [],
    exitCode: 0 as const,
  };
  const result = { snapshotId: 'ab'.repeat(32), target: 'target', ...rest, ...counts };
  reportRestore(output, result, { dryRun: false, durationMs: 0 });
  return remarks;
}

describe('reportRestore', () => {
  it('speaks of one thing as of one', () => {
    const [one] = remarksOf({ filesRestored: 1, directoriesRestored: 1, othersRestored: 1 });
    expect(one).toMatch(/^restored 1 file, 1 directory, 1 link or special file \(/);
    const [two] = remarksOf({ filesRestored: 2, directoriesRestored: 2, othersRestored: 2 });
    expect(two).toMatch(/^restored 2 files, 2 directories, 2 links and special files \(/);
    expect(remarksOf({ filesRestored: 0, directoriesRestored: 0, othersRestored: 0 })[0]).toMatch(/0 directories \(/);
  });

  it('says what was there but for its owner or mode', () => {
    const none = { filesRestored: 0, directoriesRestored: 0, othersRestored: 0 };
    expect(remarksOf({ ...none, filesMended: 1 })[1]).toBe('1 file already there, owner or mode set again');
    expect(remarksOf(none)).toHaveLength(1);
  });
});
