import { spawnSync } from 'node:child_process';
import { closeSync, fstatSync, mkdirSync, readSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { listNames, openSource, readLinkTarget } from '../../../../src/core/files/source/source-files.ts';
import { byteStringFromText, fsPath, joinPath } from '../../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { withoutPrivileges } from '../../../support/unprivileged.ts';
import { bytes } from '../sample-entry.ts';

describe('listNames', () => {
  it('gives every name byte for byte, in byte order', () => {
    const directory = byteStringFromText(temporaryDirectory());
    const names = [
      bytes(0xff),
      bytes(0xc3, 0x28),
      bytes('line\nbreak'),
      bytes('\u001b[31mred'),
      bytes('-rf'),
      bytes('__proto__'),
      bytes('é'),
      bytes('😀'),
      bytes('B'),
      bytes('a'),
      'n'.repeat(255) as ByteString,
      bytes(...Array<number>(255).fill(0xfe)),
    ];
    for (const name of names) writeFileSync(fsPath(joinPath(directory, name)), '');
    const sorted = [...names].sort((a, b) => Buffer.compare(Buffer.from(a, 'latin1'), Buffer.from(b, 'latin1')));
    expect(listNames(directory)).toEqual(sorted);
  });

  it('says why a directory cannot be listed', () => {
    const file = bytes(temporaryDirectory(), '/file');
    writeFileSync(fsPath(file), '');
    expect(() => listNames(file)).toThrow(expect.objectContaining({ code: 'SOURCE', errno: 'ENOTDIR', path: file }));
  });
});

describe('readLinkTarget', () => {
  it('gives the bytes, UTF-8 or not', () => {
    const directory = temporaryDirectory();
    for (const target of [bytes('é/x'), bytes(0xff, '/', 0x80), 'long'.repeat(500) as ByteString]) {
      const link = bytes(directory, '/link', String(target.length));
      symlinkSync(fsPath(target), fsPath(link));
      expect(readLinkTarget(link)).toBe(target);
    }
  });
});

describe('openSource', () => {
  it('opens a FIFO without waiting for a writer', () => {
    const path = join(temporaryDirectory(), 'fifo');
    expect(spawnSync('mkfifo', [path]).status).toBe(0);
    const descriptor = openSource(byteStringFromText(path));
    expect(fstatSync(descriptor).isFIFO()).toBe(true);
    closeSync(descriptor);
  });

  it('does not follow a symlink', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'file'), '');
    symlinkSync('file', join(directory, 'link'));
    expect(() => openSource(bytes(directory, '/link'))).toThrow(expect.objectContaining({ errno: 'ELOOP' }));
    mkdirSync(join(directory, 'sub'));
    symlinkSync('sub', join(directory, 'link2'));
    expect(() => openSource(bytes(directory, '/link2'))).toThrow(expect.objectContaining({ errno: 'ELOOP' }));
  });

  it.runIf(process.platform === 'linux')('reads our own files without a new access time', () => {
    const path = join(temporaryDirectory(), 'file');
    writeFileSync(path, 'content');
    // An access time before the modification time is what the system would renew.
    utimesSync(path, 1_000, 2_000);
    const descriptor = openSource(byteStringFromText(path), process.geteuid!());
    readSync(descriptor, Buffer.alloc(7));
    expect(fstatSync(descriptor).atimeMs).toBe(1_000_000);
    closeSync(descriptor);
  });

  it.runIf(process.platform === 'linux')('opens files whose owner refuses that', async () => {
    await withoutPrivileges(async () => {
      closeSync(openSource(byteStringFromText('/etc/passwd')));
      closeSync(openSource(byteStringFromText('/etc/passwd'), 0));
      closeSync(openSource(byteStringFromText('/etc/passwd'), 0));
    });
  });
});
