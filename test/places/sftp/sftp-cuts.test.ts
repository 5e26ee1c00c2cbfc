import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';

import { SftpBackend } from '../../../src/places/sftp/sftp-backend.ts';
import { writeFile } from '../../support/backend-actions.ts';
import { serveCommand } from '../../support/serve-client.ts';
import { createPrng } from '../../support/prng.ts';
import { cuttingServer, plainServer, sftpProblem } from '../../support/sftp-server.ts';
import { inSoak } from '../../support/soak.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

beforeEach(({ skip }) => skip(sftpProblem !== undefined, sftpProblem));

/** Each loses the connection about once. */
const ROUNDS = inSoak(40, 6);

describe('a connection', () => {
  test('that is lost for longer than it is repeated is an error that may pass', async () => {
    const { command } = cuttingServer(1_000_000, Infinity);
    const directory = temporaryDirectory();
    const backend = new SftpBackend(
      { location: 'sftp:x:/y', command, path: directory },
      { retryForMs: 200, firstWaitMs: 10 },
    );
    onTestFinished(async () => backend.close());
    const writer = await backend.create('a');
    await expect(writer.append(Buffer.alloc(20_000_000))).rejects.toMatchObject({ kind: 'transient' });
  });

  test.each([
    { seed: 1, server: undefined, name: 'OpenSSH' },
    ...inSoak([{ seed: 2, server: undefined, name: 'OpenSSH' }], []),
    { seed: 3, server: plainServer(), name: 'a server without extensions' },
    { seed: 4, server: serveCommand('/'), name: 'ldm serve' },
    ...inSoak([{ seed: 5, server: serveCommand('/'), name: 'ldm serve' }], []),
  ])('to $name may be lost at any time: everything arrives, and once (seed $seed)', async ({ seed, server }) => {
    const prng = createPrng(seed);
    const { command, countCuts } = cuttingServer(12_000 + seed * 1009, ROUNDS, server);
    const directory = join(temporaryDirectory(), 'repository');
    const backend = new SftpBackend(
      { location: 'sftp:x:/y', command, path: directory },
      { retryForMs: 60_000, firstWaitMs: 4 },
    );
    onTestFinished(async () => backend.close());
    await backend.prepare(['', 'tmp', 'packs', 'locks', 'deleted']);
    const kept = new Map<string, Buffer>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const bytes = Buffer.from(prng.bytes(4000 + prng.int(4000)));
      const file = await backend.stage();
      await file.append(bytes.subarray(0, 3000));
      await file.append(bytes.subarray(3000));
      let there: number | undefined;
      const after = async (): Promise<void> => void (there = await backend.sizeOf(`packs/${round}`));
      await file.publish(`packs/${round}`, undefined, round % 3 === 0, after);
      expect(there).toBe(bytes.length);
      await backend.claim(`locks/${round}`, { directories: ['locks'], newFiles: round % 2 === 0 ? 2 : 0 });
      await backend.list('locks');
      await backend.publish(`deleted/behind ${round}`, bytes);
      kept.set(`deleted/behind ${round}`, bytes);
      expect(await backend.release(`locks/${round}`)).toBe(true);
      kept.set(`packs/${round}`, bytes);
      if (round % 4 === 1) {
        await backend.move(`packs/${round}`, `deleted/${round}`);
        kept.delete(`packs/${round}`);
        kept.set(`deleted/${round}`, bytes);
      } else if (round % 5 === 2) {
        expect(await backend.remove(`packs/${round}`)).toBe(true);
        kept.delete(`packs/${round}`);
      }
      await backend.barrier();
      const target = Buffer.alloc(1000);
      const [name, whole] = [...kept][prng.int(kept.size)]!;
      await backend.readRange(name, 500, target);
      expect(target.equals(whole.subarray(500, 1500))).toBe(true);
    }
    expect(countCuts()).toBeGreaterThan(ROUNDS / 3);
    const files = (await backend.list('')).map(({ name }) => name);
    expect(files).toEqual([...kept.keys()].toSorted());
    for (const [name, bytes] of kept) expect(readFileSync(join(directory, name)).equals(bytes), name).toBe(true);
    expect(existsSync(join(directory, 'tmp'))).toBe(true);
  });

  test('may be lost when a file gets its name: what is asked along is answered after that', async () => {
    const directory = temporaryDirectory();
    const { command, countCuts } = cuttingServer(1500, inSoak(200, 10));
    const backend = new SftpBackend(
      { location: 'sftp:x:/y', command, path: directory },
      { retryForMs: 60_000, firstWaitMs: 2 },
    );
    onTestFinished(async () => backend.close());
    for (const name of ['tmp', 'packs']) mkdirSync(join(directory, name));
    for (let round = 0; round < inSoak(300, 16); round += 1) {
      let there: number | undefined;
      const after = async (): Promise<void> => void (there = await backend.sizeOf(`packs/${round}`));
      await backend.publish(`packs/${round}`, Buffer.alloc(round), undefined, after);
      expect(there).toBe(round);
    }
    expect(countCuts()).toBeGreaterThan(inSoak(100, 5));
  });

  test('may be lost while a file is written: what is not durable is written again', async () => {
    const directory = temporaryDirectory();
    const { command, countCuts } = cuttingServer(100_000, 3);
    const backend = new SftpBackend(
      { location: 'sftp:x:/y', command, path: directory },
      { retryForMs: 60_000, firstWaitMs: 4 },
    );
    onTestFinished(async () => backend.close());
    await writeFile(backend, 'a', Buffer.alloc(40_000, 'a'), Buffer.alloc(40_000, 'b'), Buffer.alloc(40_000, 'c'));
    expect(countCuts()).toBeGreaterThan(0);
    expect(readFileSync(join(directory, 'a')).toString()).toBe(
      'a'.repeat(40_000) + 'b'.repeat(40_000) + 'c'.repeat(40_000),
    );
  });
});
