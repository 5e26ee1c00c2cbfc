import { onTestFinished, beforeEach, expect, test, vi } from 'vitest';

import { SftpConnection } from '../../../src/places/sftp/sftp-connection.ts';

/** Answers the first packet, of 9 bytes, with the version of the protocol, and nothing else. */
const ANSWER_ONCE = String.raw`head -c 9 >/dev/null; printf '\0\0\0\5\2\0\0\0\3'; exec cat >/dev/null`;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
});

test('a server that no longer answers is lost after two minutes', async () => {
  const connection = await SftpConnection.open(['sh', '-c', ANSWER_ONCE], undefined);
  onTestFinished(async () => connection.close());
  const listing = connection.request((protocol, done) => protocol.readdir('/', done));
  vi.advanceTimersByTime(119_000);
  expect(connection.isLost).toBe(false);
  vi.advanceTimersByTime(1000);
  await expect(listing).rejects.toThrow('no answer for 120 seconds');
});

test('before the first answer, there is time to type a password', async () => {
  const opening = SftpConnection.open(['sh', '-c', `read line; ${ANSWER_ONCE}`], undefined);
  const outcome = expect(opening).rejects.toThrow('no answer for 600 seconds');
  vi.advanceTimersByTime(600_000);
  await outcome;
});
