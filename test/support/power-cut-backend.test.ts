import { describe, expect, test } from 'vitest';

import { testBackendContract } from '../contracts/backend-contract.ts';
import { writeFile } from './backend-actions.ts';
import type { MemoryBackend } from './memory-backend.ts';
import { PowerCutBackend } from './power-cut-backend.ts';

testBackendContract('PowerCutBackend before the cut', () => new PowerCutBackend());

const NOTHING_KEPT = 0;
const NAMES_KEPT = 1;

/** A disk with a durable file `packs/old`, and the durable directories packs and tmp. */
function makeDisk(): PowerCutBackend {
  const disk = new PowerCutBackend();
  disk.poke('packs/old', Buffer.from('old'));
  disk.poke('tmp/other', Buffer.from('other'));
  return disk;
}

function contentsOf(found: MemoryBackend): Record<string, string> {
  return Object.fromEntries(found.names().map((name) => [name, found.peek(name)?.toString('latin1') ?? '']));
}

describe('a power cut', () => {
  test('leaves what was durable from the start', () => {
    expect(contentsOf(makeDisk().cut())).toEqual({ 'packs/old': 'old', 'tmp/other': 'other' });
  });

  test('takes a new name without syncDirectory, and the bytes without sync', async () => {
    const disk = makeDisk();
    const writer = await disk.create('packs/new');
    await writer.append(Buffer.from('synced '));
    await writer.sync();
    await writer.append(Buffer.from('unsynced'));
    expect(disk.cut(NOTHING_KEPT).peek('packs/new')).toBeUndefined();
    expect(disk.cut(NAMES_KEPT).peek('packs/new')?.toString()).toBe('synced ');
    await disk.syncDirectory('packs');
    expect(disk.cut(NOTHING_KEPT).peek('packs/new')?.toString()).toBe('synced ');
    await writer.sync();
    expect(disk.cut(NOTHING_KEPT).peek('packs/new')?.toString()).toBe('synced unsynced');
  });

  test('shows an empty file where the rename was durable and the bytes were not', async () => {
    const disk = makeDisk();
    const writer = await disk.create('tmp/new');
    await writer.append(Buffer.from('bytes'));
    await disk.rename('tmp/new', 'packs/old');
    await disk.syncDirectory('packs');
    expect(disk.cut().peek('packs/old')?.toString()).toBe('');
  });

  test('undoes a rename between directories until the new one is synced, and shows both until the old one is', async () => {
    const disk = makeDisk();
    await disk.rename('packs/old', 'tmp/moved');
    await disk.syncDirectory('packs');
    expect(contentsOf(disk.cut())).toEqual({ 'packs/old': 'old', 'tmp/other': 'other' });
    await disk.syncDirectory('tmp');
    expect(contentsOf(disk.cut())).toEqual({ 'packs/old': 'old', 'tmp/moved': 'old', 'tmp/other': 'other' });
    await disk.syncDirectory('packs');
    expect(contentsOf(disk.cut())).toEqual({ 'tmp/moved': 'old', 'tmp/other': 'other' });
  });

  test('undoes a removal that was not synced', async () => {
    const disk = makeDisk();
    await disk.remove('packs/old');
    expect(disk.cut(NOTHING_KEPT).peek('packs/old')?.toString()).toBe('old');
    expect(disk.cut(NAMES_KEPT).peek('packs/old')).toBeUndefined();
    await disk.syncDirectory('packs');
    expect(disk.cut(NOTHING_KEPT).peek('packs/old')).toBeUndefined();
  });

  test('does not confuse a new file with an old one of the same name', async () => {
    const disk = makeDisk();
    await disk.rename('packs/old', 'tmp/moved');
    await writeFile(disk, 'packs/old', Buffer.from('new'));
    await disk.syncDirectory('packs');
    await disk.syncDirectory('tmp');
    await disk.syncDirectory('packs');
    expect(contentsOf(disk.cut())).toEqual({ 'packs/old': 'new', 'tmp/moved': 'old', 'tmp/other': 'other' });
  });

  test('takes a new directory until its parent or something in it was synced', async () => {
    const disk = makeDisk();
    await disk.makeDirectory('packs/ab');
    await writeFile(disk, 'packs/ab/x', Buffer.from('x'));
    expect(disk.cut().directoryNames()).toEqual(['', 'packs', 'tmp']);
    await disk.syncDirectory('packs/ab');
    expect(disk.cut().peek('packs/ab/x')?.toString()).toBe('x');
    await disk.makeDirectory('packs/cd');
    expect(disk.cut().directoryNames()).not.toContain('packs/cd');
    await disk.syncDirectory('packs');
    expect(disk.cut().directoryNames()).toContain('packs/cd');
  });

  test('with other seeds gives every mixture, the same for the same seed, and never loses what is durable', async () => {
    const disk = makeDisk();
    const writer = await disk.create('tmp/new');
    await writer.append(Buffer.from('0123456789'));
    await disk.rename('tmp/new', 'packs/new');
    await disk.rename('packs/old', 'packs/renamed');
    const outcomes = new Set<string>();
    for (let seed = 2; seed < 200; seed += 1) {
      const found = contentsOf(disk.cut(seed));
      expect(contentsOf(disk.cut(seed))).toEqual(found);
      expect(found['tmp/other']).toBe('other');
      expect([found['packs/old'], found['packs/renamed']].filter((text) => text === 'old')).toHaveLength(1);
      const bytes = found['packs/new'];
      outcomes.add(bytes === undefined ? 'no name' : bytes.includes('\0') ? 'zeros' : `${bytes.length} bytes`);
    }
    expect([...outcomes]).toEqual(expect.arrayContaining(['no name', 'zeros', '0 bytes', '10 bytes']));
  });

  test('can be followed by another', async () => {
    const disk = new PowerCutBackend(makeDisk().cut());
    await writeFile(disk, 'packs/new', Buffer.from('new'));
    await disk.syncDirectory('packs');
    const again = new PowerCutBackend(disk.cut());
    expect(contentsOf(again.cut())).toEqual({ 'packs/new': 'new', 'packs/old': 'old', 'tmp/other': 'other' });
  });
});
