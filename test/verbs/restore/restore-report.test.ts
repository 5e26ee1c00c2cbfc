import { describe, expect, it } from 'vitest';

import type { ByteString } from '../../../src/core/util/byte-string.ts';
import type { Output } from '../../../src/console/output/output.ts';
import type { RestoreResult } from '../../../src/verbs/restore/restore.ts';
import { reportRestore } from '../../../src/verbs/restore/report.ts';

function remarksOf(counts: Partial<RestoreResult>, { dryRun = false } = {}): string[] {
  const remarks: string[] = [];
  const output = { message: () => undefined, remark: (text: string) => void remarks.push(text) } as unknown as Output;
  const none = { filesRestored: 0, directoriesRestored: 0, othersRestored: 0, filesUnchanged: 0, filesKept: 0 };
  const noneFailed = {
    filesFailed: 0,
    directoriesFailed: 0,
    othersFailed: 0,
    socketsSkipped: 0,
    filesDeleted: 0,
    directoriesDeleted: 0,
    deletesFailed: 0,
    filesVerified: 0,
    bytesVerified: 0,
    verifiesFailed: 0,
    bytesTotal: 0,
    bytesRestored: 0,
    bytesSkipped: 0,
    blocksRead: 0,
    blocksNeeded: 0,
    includesUnmatched: [],
    excludesUnmatched: [],
    attributesIncomplete: 0,
    attributesUnset: [],
    problems: [],
  };
  const result = {
    snapshotId: 'ab'.repeat(32),
    target: 'target' as ByteString,
    exitCode: 0 as const,
    ...none,
    ...noneFailed,
  };
  reportRestore(output, { ...result, ...counts }, { dryRun, durationMs: 0 });
  return remarks;
}

function remarkOf(counts: Partial<RestoreResult>): string {
  return remarksOf(counts)[0]!;
}

describe('reportRestore', () => {
  it.each([
    [{ filesFailed: 1 }, '1 file'],
    [{ filesFailed: 2, directoriesFailed: 1 }, '2 files and the contents of 1 directory'],
    [
      { filesFailed: 1, othersFailed: 1, directoriesFailed: 2 },
      '1 file, 1 link or special file and the contents of 2 directories',
    ],
  ])('counts what could not be restored: %o', (counts, expected) => {
    expect(remarksOf(counts).at(-1)).toBe(`could not restore ${expected}; the messages above say why`);
  });

  it('does not say that a dry run has tried to restore something', () => {
    const remarks = remarksOf({ filesFailed: 1 }, { dryRun: true });
    expect(remarks).toContain('would not restore, or could not examine, 1 file; the messages above say why');
  });

  it('says nothing of failures if there are none', () => {
    expect(remarksOf({ filesRestored: 1 })).toHaveLength(1);
  });

  it('counts the sockets that are left out', () => {
    expect(remarksOf({})).toHaveLength(1);
    expect(remarksOf({ socketsSkipped: 1 })[1]).toMatch(/^1 socket left out: /);
  });

  it('says of a dry run how much it would restore, not how long it took', () => {
    const [restored, remark] = remarksOf({}, { dryRun: true });
    expect(restored).toMatch(/^would restore .* to target$/);
    expect(remark).toBe('dry run: nothing was written');
  });

  it('does not call entries incomplete because they belong to the user who restored them', () => {
    const owner = { name: 'owner', reason: 'privilege', count: 631 };
    expect(remarksOf({ attributesUnset: [owner] }).slice(1)).toEqual([
      '631 entries of other users or groups belong to you now: only root can set owners',
    ]);
    const capability = { name: 'security.capability', reason: 'privilege', count: 1 };
    const counts = { attributesIncomplete: 1, attributesUnset: [{ ...owner, count: 1 }, capability] };
    expect(remarksOf(counts).slice(1)).toEqual([
      '1 entry of other users or groups belongs to you now: only root can set owners',
      '1 entry was restored incompletely:',
      '  only root can set security.capability (1)',
    ]);
  });

  it('speaks of one thing as of one', () => {
    const one = remarkOf({ filesRestored: 1, directoriesRestored: 1, othersRestored: 1 });
    expect(one).toMatch(/^restored 1 file, 1 directory, 1 link or special file \(/);
    const two = remarkOf({ filesRestored: 2, directoriesRestored: 2, othersRestored: 2 });
    expect(two).toMatch(/^restored 2 files, 2 directories, 2 links and special files \(/);
    expect(remarkOf({})).toMatch(/0 directories \(/);
  });
});
