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
