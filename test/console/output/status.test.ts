import { describe, expect, it } from 'vitest';

import { isAsciiOnly } from '../../../src/console/output/locale.ts';
import { ProgressRate } from '../../../src/console/output/progress-rate.ts';
import { formatStatus, statusFields } from '../../../src/console/output/status.ts';
import type { Speed } from '../../../src/console/output/status.ts';
import { createProgress } from '../../../src/core/session/progress.ts';
import type { Progress } from '../../../src/core/session/progress.ts';
import { byteStringFromBytes, byteStringFromText } from '../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';
import type { PathNode } from '../../../src/core/util/path-node.ts';

function fileAt(path: ByteString): PathNode {
  return { parent: undefined, name: path };
}

const progress: Progress = {
  isShown: true,
  phase: 'storing',
  filesDone: 1234,
  filesTotal: 5678,
  bytesDone: 1536,
  bytesTotal: 3072,
  storedBytes: 1024,
  errorCount: 2,
  currentFile: fileAt(byteStringFromText('/data/some/file.txt')),
};

const UNKNOWN_SPEED: Speed = { bytesPerSecond: undefined, secondsRemaining: undefined };

describe('formatStatus', () => {
  it('says how far it is, and with which file', () => {
    expect(formatStatus(progress, UNKNOWN_SPEED)).toBe(
      'storing  50 %, 1,234 of 5,678 files, 1.5 KiB of 3.0 KiB, 1.0 KiB stored, 2 problems  /data/some/file.txt',
    );
  });

  it('counts packs as packs', () => {
    const packs = { ...progress, unit: 'pack' as const };
    expect(formatStatus(packs, UNKNOWN_SPEED)).toContain('1,234 of 5,678 packs, ');
    expect(statusFields(packs, UNKNOWN_SPEED, 0)).toMatchObject({ total_packs: 5678, packs_done: 1234 });
    const snapshots = { ...progress, unit: 'snapshot' as const };
    expect(formatStatus(snapshots, UNKNOWN_SPEED)).toContain('1,234 of 5,678 snapshots, ');
    expect(statusFields(snapshots, UNKNOWN_SPEED, 0)).toMatchObject({ total_snapshots: 5678, snapshots_done: 1234 });
    expect(Object.keys(statusFields(packs, UNKNOWN_SPEED, 0)).filter((name) => /files/.test(name))).toEqual([
      'current_files',
    ]);
  });

  it('has the counters of restic for a restore', () => {
    const restored = { filesRestored: 1, filesSkipped: 2, filesDeleted: 3, bytesRestored: 4, bytesSkipped: 5 };
    expect(statusFields({ ...progress, restored }, UNKNOWN_SPEED, 0)).toMatchObject({
      files_restored: 1,
      files_skipped: 2,
      files_deleted: 3,
      bytes_restored: 4,
      bytes_skipped: 5,
    });
    expect(statusFields(progress, UNKNOWN_SPEED, 0)).not.toHaveProperty('files_restored');
  });

  it('leaves out what is not known', () => {
    const unknown = {
      ...progress,
      filesTotal: undefined,
      bytesTotal: undefined,
      storedBytes: 0,
      errorCount: 0,
      phase: '',
    };
    expect(formatStatus({ ...unknown, currentFile: undefined }, UNKNOWN_SPEED)).toBe('starting  1,234 files, 1.5 KiB');
  });

  it('keeps the end of a path that is too long', () => {
    const long = { ...progress, currentFile: fileAt(byteStringFromText(`/${'x'.repeat(200)}/end`)) };
    const line = formatStatus(long, UNKNOWN_SPEED, { columns: 110 });
    expect(line).toHaveLength(110);
    expect(line).toMatch(/…x+\/end$/);
    const plain = formatStatus(long, UNKNOWN_SPEED, { columns: 110, ascii: true });
    expect(plain).toHaveLength(110);
    expect(plain).toMatch(/ \.\.\.x+\/end$/);
  });

  it('says that the goal is being counted', () => {
    const counting = { ...progress, filesTotal: undefined, bytesTotal: undefined, errorCount: 0, isCounting: true };
    const line = formatStatus({ ...counting, storedBytes: 0, currentFile: undefined }, UNKNOWN_SPEED);
    expect(line).toBe('storing  1,234 files, 1.5 KiB, counting...');
  });

  it('says nothing but the phase before anything is known', () => {
    const idle = { ...createProgress(), phase: 'opening' };
    expect(formatStatus(idle, UNKNOWN_SPEED)).toBe('opening');
    expect(formatStatus(createProgress(), UNKNOWN_SPEED)).toBe('starting');
  });

  it('finishes instead of standing at 100 % with no time left', () => {
    const none = { bytesPerSecond: 10, secondsRemaining: 0 };
    const all = { ...progress, errorCount: 0, bytesDone: 3072, filesDone: 5678 };
    const finishing = 'finishing  5,678 files, 3.0 KiB, 1.0 KiB stored';
    expect(formatStatus(all, none)).toBe(finishing);
    expect(formatStatus({ ...all, filesTotal: 6000, phase: 'finishing' }, none)).toBe(finishing);
    // Files without content are left.
    const almost = formatStatus({ ...all, filesDone: 5000 }, none);
    expect(almost).toContain('storing  99 %, 5,000 of 5,678 files, 3.0 KiB of 3.0 KiB, 10 B/s, 1.0 KiB stored');
  });

  it('says the speed and the time left', () => {
    const of = (secondsRemaining: number): string =>
      formatStatus(progress, { bytesPerSecond: 10_485_760.4, secondsRemaining });
    expect(of(5)).toContain(', 10.0 MiB/s, 0:05 left, ');
    expect(of(725)).toContain(', 12:05 left, ');
    expect(of(10_803)).toContain(', 3:00:03 left, ');
  });

  it('claims no share of a total that was passed', () => {
    const line = formatStatus({ ...progress, bytesDone: 4000 }, UNKNOWN_SPEED);
    expect(line).not.toContain('%');
    expect(line).toContain('1,234 of 5,678 files, 3.9 KiB, ');
    const files = { ...progress, filesDone: 6000 };
    expect(formatStatus(files, UNKNOWN_SPEED)).toContain('50 %, 6,000 files, 1.5 KiB of 3.0 KiB, ');
    expect(statusFields(files, UNKNOWN_SPEED, 0)).toMatchObject({ total_files: undefined, total_bytes: 3072 });
  });

  it('escapes control characters', () => {
    expect(
      formatStatus({ ...progress, currentFile: fileAt(byteStringFromText('a\u001b[2Jb')) }, UNKNOWN_SPEED),
    ).toContain('a\\x1b[2Jb');
  });
});

describe('statusFields', () => {
  it("uses restic's names", () => {
    expect(statusFields(progress, { bytesPerSecond: 100, secondsRemaining: 16 }, 2500)).toEqual({
      seconds_elapsed: 2,
      seconds_remaining: 16,
      phase: 'storing',
      percent_done: 0.5,
      total_files: 5678,
      files_done: 1234,
      total_bytes: 3072,
      bytes_done: 1536,
      stored_bytes: 1024,
      error_count: 2,
      current_files: ['/data/some/file.txt'],
    });
  });

  it('has no share of an unknown total, and survives a name that is not UTF-8', () => {
    const fields = statusFields(
      { ...progress, bytesTotal: undefined, currentFile: fileAt(byteStringFromBytes(Buffer.from([0xff]))) },
      UNKNOWN_SPEED,
      0,
    );
    expect(fields['percent_done']).toBeUndefined();
    expect(fields['current_files']).toEqual(['\ufffd']);
  });
});

describe('ProgressRate', () => {
  it('is that of the last seconds, and of no less than two', () => {
    const measured = { ...progress, bytesDone: 0, bytesTotal: 1000 };
    const rate = new ProgressRate(measured);
    rate.sample(0);
    measured.bytesDone = 100;
    rate.sample(1000);
    expect([rate.bytesPerSecond, rate.secondsRemaining]).toEqual([undefined, undefined]);
    rate.sample(2000);
    expect([rate.bytesPerSecond, rate.secondsRemaining]).toEqual([50, 18]);
    // Half a minute without a byte, and then ten a second.
    for (let second = 3; second <= 30; second += 1) rate.sample(second * 1000);
    for (let second = 31; second <= 46; second += 1) {
      measured.bytesDone += 10;
      rate.sample(second * 1000);
    }
    expect([rate.bytesPerSecond, rate.secondsRemaining]).toEqual([10, 74]);
  });

  it('is unknown where nothing moves, where the total was passed, and where the count begins again', () => {
    const measured = { ...progress, bytesDone: 10, bytesTotal: 1000 };
    const rate = new ProgressRate(measured);
    for (const ms of [0, 5000]) rate.sample(ms);
    expect(rate.secondsRemaining).toBeUndefined();
    measured.bytesDone = 2000;
    rate.sample(6000);
    expect(rate.secondsRemaining).toBeUndefined();
    measured.bytesDone = 5;
    rate.sample(7000);
    expect(rate.bytesPerSecond).toBeUndefined();
  });
});

describe('isAsciiOnly', () => {
  it.each([
    [{ LC_ALL: 'C', LANG: 'en_US.UTF-8' }, true],
    [{ LC_ALL: '', LC_CTYPE: 'POSIX', LANG: 'en_US.UTF-8' }, true],
    [{ LANG: 'de_DE.ISO-8859-1' }, true],
    [{ LC_ALL: 'C.UTF-8' }, false],
    [{ LC_CTYPE: 'en_US.utf8', LANG: 'C' }, false],
    [{}, false],
  ])('%j: %s', (environment, expected) => {
    expect(isAsciiOnly(environment)).toBe(expected);
  });
});
