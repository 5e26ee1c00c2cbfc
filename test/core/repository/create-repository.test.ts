import { join } from 'node:path';

import { expect, it } from 'vitest';

import { backendFailure } from '../../../src/core/backend/backend-failure.ts';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

class ForbiddenBackend extends LocalBackend {
  override async makeDirectory(name: string): Promise<void> {
    throw backendFailure({ location: this.location, operation: 'makeDirectory', name, errno: 'EACCES' });
  }
}

it('does not name the owner of a repository that could not be created', async () => {
  const backend = new ForbiddenBackend(join(memoryDirectory(), 'repository'));
  await expect(initRepository({ backend })).rejects.toMatchObject({
    code: 'BACKEND',
    errno: 'EACCES',
    hint: 'Name a place where you may create files, or run ldm as a user who may do that there.',
  });
});
