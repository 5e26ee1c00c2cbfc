import { expect, test } from 'vitest';

import { testBackendContract } from '../contracts/backend-contract.ts';
import { MemoryBackend } from './memory-backend.ts';

testBackendContract('MemoryBackend', () => new MemoryBackend());

test('a copy shares nothing', async () => {
  const backend = new MemoryBackend();
  backend.poke('packs/a', Buffer.from('x'));
  await backend.makeDirectory('empty');
  const copy = backend.copy();
  await backend.remove('packs/a');
  expect(copy.names()).toEqual(['packs/a']);
  expect(copy.directoryNames()).toEqual(['', 'empty', 'packs']);
});

test('a file that grows does not show in a copy, and one that grows in a copy not in the first', async () => {
  const backend = new MemoryBackend();
  const writer = await backend.create('a');
  await writer.append(Buffer.from('same'));
  const copies = [backend.copy(), backend.copy()];
  await writer.append(Buffer.from(' and more'));
  copies[0]!.peek('a')!.fill(0);
  copies[1]!.poke('a', Buffer.from('another'));
  expect([backend, ...copies].map((each) => each.peek('a')!.toString())).toEqual(['same and more', 'same', 'another']);
});
