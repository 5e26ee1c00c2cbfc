import { describe, expect, it } from 'vitest';

import type { Output } from '../../../src/cli/output.ts';
import { reportRestore } from '../../../src/cli/reports/restore-report.ts';

function remarkOf(counts: {
  readonly filesRestored: number;
  readonly directoriesRestored: number;
  readonly othersRestored: number;
}): string {
  const remarks: string[] = [];
  const output = { message: () => undefined, remark: (text: string) => void remarks.push(text) } as unknown as Output;
  const rest = { filesUnchanged: 0, filesKept: 0, bytesRestored: 0, problems: [], exitCode: 0 as const };
  const result = { snapshotId: 'ab'.repeat(32), target: 'target', ...counts, ...rest };
  reportRestore(output, result, { dryRun: false, durationMs: 0 });
  return remarks[0]!;
}

describe('reportRestore', () => {
  it('speaks of one thing as of one', () => {
    const one = remarkOf({ filesRestored: 1, directoriesRestored: 1, othersRestored: 1 });
    expect(one).toMatch(/^restored 1 file, 1 directory, 1 link or special file \(/);
    const two = remarkOf({ filesRestored: 2, directoriesRestored: 2, othersRestored: 2 });
    expect(two).toMatch(/^restored 2 files, 2 directories, 2 links and special files \(/);
    expect(remarkOf({ filesRestored: 0, directoriesRestored: 0, othersRestored: 0 })).toMatch(/0 directories \(/);
  });
});
