import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { openOwnerNames } from '../../../../src/core/files/native/owner-names.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { bytes } from '../sample-entry.ts';

it('knows names both ways; of doubles the first counts', () => {
  const directory = temporaryDirectory();
  const passwd = join(directory, 'passwd');
  const group = join(directory, 'group');
  const lines = ['root:x:0:0::/:/bin/sh', 'toor:x:0:0::/:', '# note:x:5:', 'broken', ':x:7:', '+:x::', 'bad:x:1a:'];
  writeFileSync(
    passwd,
    Buffer.concat([Buffer.from(`${lines.join('\n')}\n`), Buffer.of(0xe9), Buffer.from(':x:1000:')]),
  );
  writeFileSync(group, 'staff:x:50:root\nstaff:x:51:\n__proto__:x:52:');
  const names = openOwnerNames(passwd, group);
  expect(names.userName(0)).toBe('root');
  expect(names.userId(bytes('toor'))).toBe(0);
  expect(names.userName(1000)).toBe(bytes(0xe9));
  expect([5, 7, 1, 4].map((uid) => names.userName(uid))).toEqual(['', '', '', '']);
  expect(names.groupId(bytes('staff'))).toBe(50);
  expect(names.groupName(52)).toBe('__proto__');
  expect(names.groupId(bytes('toString'))).toBeUndefined();
});

it('works without the files', () => {
  const names = openOwnerNames('/nonexistent/passwd', '/nonexistent/group');
  expect(names.userName(0)).toBe('');
  expect(names.groupId(bytes('root'))).toBeUndefined();
});
