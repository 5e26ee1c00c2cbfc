import { expect, test } from 'vitest';

import { rcloneError } from '../../../src/places/rclone/rclone-answer.ts';
import { answerError } from '../../../src/places/s3/s3-answer.ts';
import { SftpStatusError } from '../../../src/places/sftp/sftp-connection.ts';
import { sftpFailure } from '../../../src/places/sftp/sftp-failure.ts';

test.each([
  [403, 'QuotaExceeded', ''],
  [507, 'XMinioStorageFull', ''],
  [400, 'XMinioAdminBucketQuotaExceeded', 'Bucket quota exceeded'],
  [400, 'EntityTooLarge', ''],
  [403, 'AccessDenied', 'Cannot upload files, storage cap exceeded.'],
  [507, 'InsufficientStorage', ''],
])('an S3 server that answers %i %s %s is full', (status, code, message) => {
  const body = Buffer.from(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`);
  expect(answerError({ status, headers: {}, body })).toMatchObject({
    kind: 'full',
    hint: expect.stringContaining('Delete snapshots') as string,
  });
});

test.each([
  [14, 'x', 'ENOSPC'],
  [15, 'x', 'EDQUOT'],
  [4, 'Disk quota exceeded', 'EDQUOT'],
  [4, 'No space left on device', 'ENOSPC'],
])('an SFTP server that answers %i %s has no room', (status, message, errno) => {
  const cause = new SftpStatusError(status, message);
  const failure = sftpFailure({ location: 'sftp:test', operation: 'append', name: 'x', cause }, true);
  expect(failure).toMatchObject({ kind: 'full', errno });
});

test.each([
  'insufficientStorage: not enough free space',
  'storageQuotaExceeded',
  'Insufficient Space',
  'storage cap exceeded',
  'Post request rcat error: preallocate: file too big for remaining disk space',
])('a cloud behind rclone that says "%s" is full', (said) => {
  expect(rcloneError(500, said)).toMatchObject({ kind: 'full' });
});
