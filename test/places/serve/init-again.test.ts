import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

import { initRepository, repositoryExists } from '../../../src/core/creating/init.ts';
import { RESERVE_BYTES, RESERVE_NAME } from '../../../src/core/format/layout.ts';
import { serveCommand } from '../../support/serve-client.ts';
import { serveCommandsHere } from '../../support/serve-here.ts';
import { sftpBackend } from '../../support/sftp-server.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

it.each([
  [RESERVE_NAME, RESERVE_BYTES],
  ['filter/000000000001-00000000', 100],
])('on an append-only server, init can be repeated after one that has left %s', async (name, sizeBytes) => {
  serveCommandsHere();
  const directory = memoryDirectory();
  const left = join(directory, 'place', name);
  mkdirSync(dirname(left), { recursive: true });
  writeFileSync(left, Buffer.alloc(sizeBytes));
  const backend = sftpBackend('/place', serveCommand(directory, '--append-only'));
  await initRepository({ backend });
  expect(await repositoryExists(backend)).toBe(true);
});
