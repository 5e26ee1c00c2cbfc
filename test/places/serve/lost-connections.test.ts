import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { SftpBackend } from '../../../src/places/sftp/sftp-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { serveCommand } from '../../support/serve-client.ts';
import { cuttingServer } from '../../support/sftp-server.ts';
import { inSoak } from '../../support/soak.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

test('an append-only server takes everything once, though its connections are lost again and again', async () => {
  const directory = temporaryDirectory();
  const { command, countCuts } = cuttingServer(14_009, inSoak(15, 6), serveCommand(directory, '--append-only'));
  const backend = new SftpBackend(
    { location: 'sftp:test:/', command, path: '/' },
    { retryForMs: 60_000, firstWaitMs: 4 },
  );
  onTestFinished(async () => backend.close());
  await backend.prepare(['', 'tmp', 'packs', 'packs/aa', 'locks']);
  const prng = createPrng(5);
  const kept = new Map<string, Buffer>();
  for (let round = 0; round < inSoak(30, 12); round += 1) {
    const name = `packs/aa/${String(round).padStart(64, '0')}`;
    const bytes = Buffer.from(prng.bytes(3000 + prng.int(6000)));
    const lock = `locks/shared-host_1_2_3_4_5_${round}`;
    await backend.claim(lock);
    const file = await backend.stage();
    await file.append(bytes.subarray(0, 2000));
    // From here on, a new connection goes on with the temporary file of the one before.
    await file.flush();
    await file.append(bytes.subarray(2000));
    await file.publish(name, undefined, round % 3 === 0);
    await backend.barrier();
    expect(await backend.refresh(lock)).toBe(true);
    expect(await backend.release(lock)).toBe(true);
    kept.set(name, bytes);
  }
  expect(countCuts()).toBeGreaterThan(inSoak(10, 3));
  expect((await backend.list('')).map(({ name }) => name)).toEqual([...kept.keys()]);
  for (const [name, bytes] of kept) expect(readFileSync(join(directory, name)).equals(bytes), name).toBe(true);
});
