import assert from 'node:assert/strict';
import type * as fs from 'node:fs';
import { join } from 'node:path';

import { expect, test, vi } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { expectErrno } from '../../support/backend-actions.ts';
import { systemError } from '../../support/system-error.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

// The writer keeps the call, so that `replaceCall` would come too late.
vi.mock('node:fs', async (importOriginal) => {
  const fsync = (_descriptor: number, callback: fs.NoParamCallback): void => callback(systemError('EIO'));
  return { ...(await importOriginal<typeof fs>()), fsync: vi.fn(fsync) };
});

test('a failed fsync is an error, and nobody may try again', async () => {
  const { fsync } = await import('node:fs');
  const backend = new LocalBackend(join(temporaryDirectory(), 'repository'));
  await backend.makeDirectory('packs');
  const writer = await backend.create('packs/a');
  await writer.append(Buffer.from('x'));
  await expectErrno(writer.sync(), 'EIO');
  await expect(writer.sync()).rejects.toThrow(assert.AssertionError);
  await expect(writer.append(Buffer.from('x'))).rejects.toThrow(assert.AssertionError);
  await writer.close();
  expect(fsync).toHaveBeenCalledTimes(1);
});
