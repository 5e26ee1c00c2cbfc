import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { decodeLockName, encodeLockName, fitOwner } from '../../../../src/core/repository/locks/lock-name.ts';
import type { LockName } from '../../../../src/core/repository/locks/lock-name.ts';
import { testProperty } from '../../../support/property.ts';

const text = fc.string({ unit: 'binary', maxLength: 300 });
const anyLock: fc.Arbitrary<LockName> = fc.record({
  mode: fc.constantFrom('shared', 'exclusive'),
  owner: fc.record({
    host: text,
    machineId: text,
    bootId: text,
    pidNamespace: text,
    pid: fc.integer({ min: 1, max: 2 ** 32 }),
    startTime: text,
  }),
  nonce: fc.stringMatching(/^[0-9a-f]{16}$/),
});

testProperty('a name says what the lock says, with long fields cut', (check) => {
  check(
    fc.property(anyLock, (lock) => {
      const decoded = decodeLockName(encodeLockName(lock));
      expect(decoded).toEqual({ ...lock, owner: fitOwner(lock.owner) });
    }),
  );
});

testProperty('a name fits every file system: at most 255 bytes, all of them plain', (check) => {
  check(
    fc.property(anyLock, (lock) => {
      expect(encodeLockName(lock)).toMatch(/^(?:shared|exclusive)-[\w.~-]{1,240}$/);
    }),
  );
});

testProperty('cutting an owner twice cuts no more', (check) => {
  check(
    fc.property(anyLock, ({ owner }) => {
      expect(fitOwner(fitOwner(owner))).toEqual(fitOwner(owner));
    }),
  );
});

test('a usual owner is not cut, and its name can be read by people', () => {
  const owner = {
    host: 'backup-host.example.org',
    machineId: '0123456789abcdef0123456789abcdef',
    bootId: 'fedcba9876543210fedcba9876543210',
    pidNamespace: '4026531836',
    pid: 4_194_304,
    startTime: '184467440737095',
  };
  expect(fitOwner(owner)).toEqual(owner);
  expect(encodeLockName({ mode: 'shared', owner, nonce: '00ff00ff00ff00ff' })).toBe(
    'shared-backup-host.example.org_0123456789abcdef0123456789abcdef_fedcba9876543210fedcba9876543210_4026531836_4194304_184467440737095_00ff00ff00ff00ff',
  );
});

test.each([
  '',
  'shared',
  'shared-',
  'shared-a_b_c_d_1_f',
  'shared-a_b_c_d_1_f_00_00',
  'other-a_b_c_d_1_f_00',
  'shared-a_b_c_d_0_f_00',
  'shared-a_b_c_d_-1_f_00',
  'shared-a_b_c_d_1e3_f_00',
  'shared-a_b_c_d_1_f_xyz',
  'shared-a_b_c_d_1_f_',
  'shared-a b_b_c_d_1_f_00',
  'exclusive-a_b_c_d_1_f_00\n',
  'exclusive-a_b_c_d_1_f_00.tmp',
])('%j is not the name of a lock', (name) => {
  expect(decodeLockName(name)).toBeUndefined();
});
