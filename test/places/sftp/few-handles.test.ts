import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';

import { makeScenario } from '../../cli/scenario.ts';
import { narrowServer, sftpProblem } from '../../support/sftp-server.ts';

beforeEach(({ skip }) => skip(sftpProblem !== undefined, sftpProblem));

it('a server that keeps a dozen files open serves every command, though more would be asked for at once', async () => {
  const { directory, run } = await makeScenario();
  const env = {
    LDM_REPOSITORY: `sftp:test:${directory}/remote`,
    LDM_SSH_COMMAND: narrowServer(16)
      .map((word) => `'${word}'`)
      .join(' '),
    LDM_PASSWORD: 'a password',
    XDG_CACHE_HOME: join(directory, 'cache'),
    XDG_STATE_HOME: join(directory, 'state'),
  };
  const source = join(directory, 'source');
  const succeeds = async (...args: string[]): Promise<void> =>
    expect(await run(args, { env }), args.join(' ')).toMatchObject({ code: 0 });
  await succeeds('init');
  await succeeds('backup', source);
  // So many that each kind of file is more than are read at a time.
  for (let count = 0; count < 8; count += 1) {
    writeFileSync(join(source, `new-${count}`), 'new');
    await succeeds('backup', source);
  }
  await succeeds('check', '--read-data');
  await succeeds('restore', 'latest', '-t', join(directory, 'out'));
  await succeeds('forget', '--keep-last', '1');
});
