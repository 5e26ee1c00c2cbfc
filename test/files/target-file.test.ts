import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import type * as Fs from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { TargetError } from '../../src/errors.ts';
import { TargetFile, writeTargetFile } from '../../src/files/target-file.ts';
import { createTargetPolicy } from '../../src/files/target-policy.ts';
import { byteStringFromText } from '../../src/util/byte-string.ts';
import { temporaryDirectory } from '../support/temp-directory.ts';

const links = vi.hoisted(() => ({ arePossible: true, count: 0 }));

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof Fs>();
  const linkSync: typeof fs.linkSync = (existing, name) => {
    links.count += 1;
    if (!links.arePossible) throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    fs.linkSync(existing, name);
  };
  return { ...fs, linkSync };
});

const none = byteStringFromText('');
const owner = { uid: process.getuid!(), gid: process.getgid!(), user: none, group: none };
const metadata = { type: 'file', mode: 0o640, mtimeSeconds: 1, mtimeNanoseconds: 0, ...owner } as const;
const policy = createTargetPolicy();
const bytes = Buffer.from('ours');

describe.each([
  ['with hard links', true],
  ['without hard links', false],
])('on a file system %s', (_, arePossible) => {
  it('a file gets a name that nothing has, and no other', () => {
    Object.assign(links, { arePossible, count: 0 });
    const directory = temporaryDirectory();
    const place = { path: byteStringFromText(join(directory, 'name')), replaces: false };
    expect(writeTargetFile(place, bytes, metadata, { policy })).toBeUndefined();
    expect(links.count).toBe(1);
    expect(readFileSync(join(directory, 'name'), 'utf8')).toBe('ours');
    expect(readdirSync(directory)).toEqual(['name']);
  });

  it('what has the name keeps it', () => {
    Object.assign(links, { arePossible, count: 0 });
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'name'), 'theirs');
    const place = { path: byteStringFromText(join(directory, 'name')), replaces: false };
    expect(() => writeTargetFile(place, bytes, metadata, { policy })).toThrow('another file has this name meanwhile');
    expect(readFileSync(join(directory, 'name'), 'utf8')).toBe('theirs');
    expect(readdirSync(directory)).toEqual(['name']);
  });
});

it('a file that cannot even be removed tells what went wrong before', () => {
  links.arePossible = true;
  const directory = join(temporaryDirectory(), 'directory');
  const place = { path: byteStringFromText(join(directory, 'name')), replaces: false };
  expect(() => writeTargetFile(place, bytes, metadata, { policy })).toThrow(TargetError);
  const file = new TargetFile({ path: byteStringFromText(join(temporaryDirectory(), 'name')), replaces: false }, 0o600);
  file.abandon();
  expect(() => {
    file.abandon();
  }).not.toThrow();
  rmSync(directory, { recursive: true, force: true });
});
