import { expect, test } from 'vitest';

import { backendFailure } from '../../../src/core/backend/backend-failure.ts';
import { isAbsent, isDamage, isDiskFull } from '../../../src/core/errors.ts';

function failureOf(errno: string | undefined): ReturnType<typeof backendFailure> {
  return backendFailure({ location: 'somewhere', operation: 'read', name: 'config', errno });
}

test.each([
  ['ENOENT', 'absent'],
  ['ENOTDIR', 'no-directory'],
  ['EEXIST', 'exists'],
  ['ENOSPC', 'full'],
  ['EDQUOT', 'full'],
  ['EACCES', 'denied'],
  ['EPERM', 'denied'],
  ['EROFS', 'read-only'],
  ['EIO', 'damaged'],
  ['ETIMEDOUT', 'transient'],
  ['ECONNRESET', 'transient'],
  ['EMFILE', 'other'],
  ['ESTALE', 'other'],
  [undefined, 'other'],
])('an error %s is of the kind %s', (errno, kind) => {
  expect(failureOf(errno)).toMatchObject({ kind, errno });
});

test.each(['ETIMEDOUT', 'ECONNRESET', 'ENETUNREACH', 'EMFILE', 'ENODEV', undefined])(
  'an error %s never looks like lost data',
  (errno) => {
    const error = failureOf(errno);
    expect([isAbsent(error), isDamage(error), isDiskFull(error)]).toEqual([false, false, false]);
  },
);

test('a failure in other words is the same failure', () => {
  const error = failureOf('ENOSPC');
  const rephrased = error.rephrase('no room');
  expect(rephrased).toMatchObject({
    message: 'no room',
    kind: 'full',
    errno: 'ENOSPC',
    hint: error.hint,
    cause: error,
  });
  expect(error.rephrase('no room', 'Make some.').hint).toBe('Make some.');
});
