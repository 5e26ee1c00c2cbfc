import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { initRepository, repositoryExists } from '../../../src/core/creating/init.ts';
import { serveCommand } from '../../support/serve-client.ts';
import { serveCommandsHere } from '../../support/serve-here.ts';
import { sftpBackend, sftpProblem } from '../../support/sftp-server.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

describe('a repository can be created where the directories above do not exist', () => {
  it.skipIf(sftpProblem !== undefined)('by the server of OpenSSH', async () => {
    const backend = sftpBackend(join(memoryDirectory(), 'a/b/c'));
    await initRepository({ backend });
    expect(await repositoryExists(backend)).toBe(true);
  });

  it('by our own server', async () => {
    serveCommandsHere();
    const backend = sftpBackend('/a/b/c', serveCommand(memoryDirectory()));
    await initRepository({ backend });
    expect(await repositoryExists(backend)).toBe(true);
  });
});
