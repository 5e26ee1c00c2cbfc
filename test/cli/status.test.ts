import { describe, expect, it } from 'vitest';

import { formatStatus, statusFields } from '../../src/cli/status.ts';
import type { Progress } from '../../src/operations/context.ts';
import { byteStringFromBytes, byteStringFromText } from '../../src/util/byte-string.ts';
import type { ByteString } from '../../src/util/byte-string.ts';
import type { PathNode } from '../../src/util/path-node.ts';

function fileAt(path: ByteString): PathNode {
  return { parent: undefined, name: path };
}

const progress: Progress = {
  phase: 'storing',
  filesDone: 1234,
  filesTotal: 5678,
  bytesDone: 1536,
  bytesTotal: 3072,
  storedBytes: 1024,
  errorCount: 2,
  currentFile: fileAt(byteStringFromText('/data/some/file.txt')),
};

describe('formatStatus', () => {
  it('says how far it is, and with which file', () => {
    expect(formatStatus(progress)).toBe(
      'storing  1,234 of 5,678 files, 1.5 KiB of 3.0 KiB, 1.0 KiB stored, 2 problems  /data/some/file.txt',
    );
  });

  it('counts packs as packs', () => {
    const packs = { ...progress, unit: 'pack' as const };
    expect(formatStatus(packs)).toContain('1,234 of 5,678 packs, ');
    expect(statusFields(packs, 0)).toMatchObject({ total_packs: 5678, packs_done: 1234 });
    expect(Object.keys(statusFields(packs, 0)).filter((name) => /files/.test(name))).toEqual(['current_files']);
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
    expect(formatStatus({ ...unknown, currentFile: undefined })).toBe('starting  1,234 files, 1.5 KiB');
  });

  it('keeps the end of a path that is too long', () => {
    const line = formatStatus({ ...progress, currentFile: fileAt(byteStringFromText(`/${'x'.repeat(200)}/end`)) }, 100);
    expect(line).toHaveLength(100);
    expect(line).toMatch(/…x+\/end$/);
  });

  it('escapes control characters', () => {
    expect(formatStatus({ ...progress, currentFile: fileAt(byteStringFromText('a\u001b[2Jb')) })).toContain(
      'a\\x1b[2Jb',
    );
  });
});

describe('statusFields', () => {
  it("uses restic's names", () => {
    expect(statusFields(progress, 2500)).toEqual({
      seconds_elapsed: 2,
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
      0,
    );
    expect(fields).not.toHaveProperty('percent_done');
    expect(fields['current_files']).toEqual(['\ufffd']);
  });
});
