import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';

import { Places } from '../../../src/console/settings/places.ts';
import { resolveSettings } from '../../../src/console/settings/settings.ts';
import { createPrng } from '../../support/prng.ts';
import { plainServer, sftpProblem } from '../../support/sftp-server.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const BYTES = 100_000;

beforeEach(({ skip }) => skip(sftpProblem !== undefined, sftpProblem));

it('all places of a command share one limit, and their requests are counted together', async () => {
  const directory = memoryDirectory();
  const options = { verbose: 0, progress: false, limitUpload: 2 * BYTES, repo: `sftp:test:${directory}/r` };
  const settings = { ...resolveSettings(options, {}), sshCommand: plainServer() };
  const places = new Places(settings, () => undefined);
  const opened = [
    await places.open(settings.repository),
    ...(await Promise.all(['a', 'b'].map(async (name) => places.openGroup(`sftp:test:${join(directory, name)}`)))),
  ];
  const startMs = performance.now();
  await Promise.all(
    opened.map(async (backend, index) => {
      await backend.prepare(['tmp', 'packs']);
      await backend.publish('packs/x', createPrng(index).bytes(BYTES));
    }),
  );
  // A quarter of a second may pass at once.
  expect(performance.now() - startMs).toBeGreaterThan(1200);
  expect(places.trafficFields).toMatchObject({ bytes_uploaded: 3 * BYTES, bytes_downloaded: 0 });
  for (const backend of opened.slice(1)) await backend.close();
  await places.close();
});
