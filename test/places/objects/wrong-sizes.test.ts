import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

import { S3Store } from '../../../src/places/s3/s3-store.ts';
import { SftpBackend } from '../../../src/places/sftp/sftp-backend.ts';
import { lyingServer, sftpBackend, sftpProblem } from '../../support/sftp-server.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { clientOf, fixedKeys, serve } from '../s3/s3-support.ts';

/** Where SSH_FXP_ATTRS has the size, whose 8 bytes begin with the highest one. */
const SIZE_OFFSET = 13;

describe.skipIf(sftpProblem !== undefined)('a size that cannot be right, from an SFTP server,', () => {
  test.each([0, 1, 2, 3])('is an error of the place, and no memory is allocated for it (byte %d)', async (byte) => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'config'), 'content');
    const backend = sftpBackend(directory, lyingServer(SIZE_OFFSET + byte, Infinity));
    await expect(backend.read('config')).rejects.toMatchObject({ code: 'BACKEND', kind: 'other' });
  });

  test('is asked for again', async () => {
    const path = temporaryDirectory();
    writeFileSync(join(path, 'config'), 'content');
    const command = lyingServer(SIZE_OFFSET, 1);
    const backend = new SftpBackend({ location: 'sftp:test', command, path }, { retryForMs: 60_000, firstWaitMs: 2 });
    onTestFinished(async () => backend.close());
    expect(Buffer.from(await backend.read('config')).toString()).toBe('content');
  });
});

describe('a size that cannot be right, from a server of objects,', () => {
  test('is no answer', async () => {
    const endpoint = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': String(2 ** 40) });
      response.write('content');
    });
    const store = new S3Store(clientOf(endpoint, fixedKeys()), '');
    await expect(store.get('a')).rejects.toMatchObject({
      kind: 'transient',
      message: expect.stringContaining('too long'),
    });
  });

  test('is no size of an object', async () => {
    const endpoint = await serve((_request, response) => {
      response.writeHead(200, { 'transfer-encoding': 'chunked' }).end();
    });
    const store = new S3Store(clientOf(endpoint, fixedKeys()), '');
    await expect(store.head('a')).rejects.toMatchObject({ kind: 'transient' });
  });
});
