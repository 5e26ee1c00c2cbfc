import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { TargetError } from '../../../../src/core/errors.ts';
import { TargetFile, writeTargetFile } from '../../../../src/core/files/target/target-file.ts';
import { createTargetPolicy } from '../../../../src/core/files/target/target-policy.ts';
import { NO_ATTRIBUTES } from '../../../../src/core/format/tree/tree-entry.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import { replaceCall } from '../../../support/replaced-call.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { giveToNobody, withoutPrivileges } from '../../../support/unprivileged.ts';

/** What goes wrong with the calls of a test, and how often it did. */
const faults = { link: false, rename: false, unlink: false, firedCount: 0 };

function failIf(isFaulty: boolean): void {
  if (!isFaulty) return;
  faults.firedCount += 1;
  throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
}

beforeEach(() => {
  Object.assign(faults, { link: false, rename: false, unlink: false, firedCount: 0 });
  replaceCall('linkSync', (linkSync) => (existing, name) => {
    failIf(faults.link);
    linkSync(existing, name);
  });
  replaceCall('renameSync', (rename) => (source, name) => {
    failIf(faults.rename);
    rename(source, name);
  });
  replaceCall('unlinkSync', (unlinkSync) => (path) => {
    failIf(faults.unlink);
    unlinkSync(path);
  });
});

const none = byteStringFromText('');
const owner = { uid: process.getuid!(), gid: process.getgid!(), user: none, group: none };
const metadata = {
  type: 'file',
  mode: 0o640,
  mtimeSeconds: 1,
  mtimeNanoseconds: 0,
  extensions: [],
  ...owner,
  ...NO_ATTRIBUTES,
} as const;
const policy = createTargetPolicy();
const bytes = Buffer.from('ours');

describe.each([
  ['with hard links', 0],
  ['without hard links', 1],
])('on a file system %s', (_, faultCount) => {
  beforeEach(() => {
    faults.link = faultCount > 0;
  });

  it('a file gets a name that nothing has, and no other', () => {
    const directory = temporaryDirectory();
    const place = { path: byteStringFromText(join(directory, 'name')), replaces: false };
    expect(writeTargetFile(place, bytes, metadata, { policy })).toBeUndefined();
    expect(faults.firedCount).toBe(faultCount);
    expect(readFileSync(join(directory, 'name'), 'utf8')).toBe('ours');
    expect(readdirSync(directory)).toEqual(['name']);
  });

  it('what has the name keeps it', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'name'), 'theirs');
    const place = { path: byteStringFromText(join(directory, 'name')), replaces: false };
    expect(() => writeTargetFile(place, bytes, metadata, { policy })).toThrow('another file has taken this name');
    expect(readFileSync(join(directory, 'name'), 'utf8')).toBe('theirs');
    expect(readdirSync(directory)).toEqual(['name']);
  });
});

describe('when the last step fails', () => {
  it('without hard links nothing keeps the name', () => {
    Object.assign(faults, { link: true, rename: true });
    const directory = temporaryDirectory();
    const place = { path: byteStringFromText(join(directory, 'name')), replaces: false };
    expect(() => writeTargetFile(place, bytes, metadata, { policy })).toThrow('cannot replace');
    expect(faults.firedCount).toBe(2);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('without hard links what a kill would leave is empty and older than any file', () => {
    Object.assign(faults, { link: true, rename: true, unlink: true });
    const directory = temporaryDirectory();
    const place = { path: byteStringFromText(join(directory, 'name')), replaces: false };
    expect(() => writeTargetFile(place, bytes, metadata, { policy })).toThrow('cannot replace');
    const { size, mtimeMs } = statSync(join(directory, 'name'));
    expect({ size, mtimeMs }).toEqual({ size: 0, mtimeMs: 0 });
  });

  it('a work file that stays is told of', () => {
    faults.unlink = true;
    const directory = temporaryDirectory();
    const place = { path: byteStringFromText(join(directory, 'name')), replaces: false };
    expect(() => writeTargetFile(place, bytes, metadata, { policy })).toThrow(
      /cannot remove the temporary file of .*name/,
    );
    expect(readFileSync(join(directory, 'name'), 'utf8')).toBe('ours');
  });

  it('what cannot even be removed tells what went wrong before', () => {
    const directory = join(temporaryDirectory(), 'directory');
    mkdirSync(directory);
    const file = new TargetFile({ path: byteStringFromText(join(directory, 'name')), replaces: false }, 0o600);
    renameSync(directory, `${directory}.gone`);
    writeFileSync(directory, 'a file now');
    expect(() => file.commit(metadata, { policy })).toThrow(TargetError);
    expect(() => {
      file.abandon();
    }).not.toThrow();
  });
});

describe('a file that is written in parts, and closed in between', () => {
  const large = { ...metadata, mode: 0o444 };
  const zeros = Buffer.alloc(64 * 1024);
  const makeParts = (): { path: string; directory: string; file: TargetFile } => {
    const directory = temporaryDirectory();
    const path = join(directory, 'name');
    const place = { path: byteStringFromText(path), replaces: false };
    return { path, directory, file: new TargetFile(place, large.mode, { isSparse: true }) };
  };

  it('is whole, in whatever order its parts come, also if it is read-only and ends with a hole', async () => {
    const { path, file } = makeParts();
    await withoutPrivilegesIn(path, async () => {
      file.writeAt(2 * zeros.length, zeros);
      file.rest();
      file.rest();
      file.writeAt(0, bytes);
      file.rest();
      file.writeAt(bytes.length, zeros);
      file.rest();
      file.commit(large, { policy: createTargetPolicy() });
    });
    const content = readFileSync(path);
    expect(content.length).toBe(3 * zeros.length);
    expect(content.subarray(0, bytes.length).equals(bytes)).toBe(true);
    expect(content.subarray(bytes.length).every((byte) => byte === 0)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o444);
  });

  it.each([
    ['another file', (path: string) => writeFileSync(path, 'theirs')],
    ['a FIFO', (path: string) => spawnSync('mkfifo', [path])],
  ])('is given up if %s took the place of its temporary file', (_, put) => {
    const { path, directory, file } = makeParts();
    file.writeAt(0, bytes);
    file.rest();
    const [name] = readdirSync(directory);
    renameSync(join(directory, name!), join(directory, 'moved'));
    put(join(directory, name!));
    expect(() => file.writeAt(bytes.length, bytes)).toThrow(TargetError);
    file.abandon();
    expect(readFileSync(join(directory, 'moved')).equals(bytes)).toBe(true);
    expect(readdirSync(directory)).not.toContain(path);
  });

  /** Permissions do not stop root. */
  async function withoutPrivilegesIn(path: string, action: () => Promise<void>): Promise<void> {
    giveToNobody(join(path, '..'));
    await withoutPrivileges(action);
  }
});
