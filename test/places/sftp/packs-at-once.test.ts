import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { DEFAULT_STORE_SIZES } from '../../../src/core/store/store-sizes.ts';
import { CachedBackend } from '../../../src/places/remote/cached-backend.ts';
import { MeteredBackend } from '../../../src/places/remote/metered-backend.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { createPrng } from '../../support/prng.ts';
import { holdingServer, openSshServer, sftpBackend, sftpProblem } from '../../support/sftp-server.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const PACK_BYTES = 20_000;

beforeEach(({ skip }) => skip(sftpProblem !== undefined, sftpProblem));

it('a backup writes the next pack while the server makes one durable', { timeout: 20_000 }, async () => {
  const directory = memoryDirectory();
  const source = memoryDirectory();
  const contextWith = (command: readonly string[]): OperationContext => {
    const backend = new MeteredBackend(sftpBackend(join(directory, 'remote'), command));
    const cached = new CachedBackend(backend, { directory: join(directory, 'cache') });
    return {
      backend: cached,
      ...optionsOfTests(),
      storeSizes: { ...DEFAULT_STORE_SIZES, blockRawBytes: 5000, packBytes: PACK_BYTES },
    };
  };
  for (let index = 0; index < 10; index += 1)
    writeFileSync(join(source, `${index}`), createPrng(index).bytes(PACK_BYTES));
  await initRepository(contextWith(openSshServer()));
  // The trees of so few files are far smaller than a pack.
  const context = contextWith(holdingServer(PACK_BYTES));
  const { summary } = await backup(context, { sources: [source], cwd: '/' });
  expect(summary.filesNew).toBe(10);
  await context.backend.close();
});
