import { describe, expect, test } from 'vitest';

import { formatSftpPlace, isSftpPlace, parseSftpPlace } from '../../src/places/place.ts';

describe('a place on an SFTP server', () => {
  test.each([
    ['sftp:user@host:/srv/ldm', { user: 'user', host: 'host', path: '/srv/ldm' }, 'sftp:user@host:/srv/ldm'],
    ['user@host:/srv/ldm/', { user: 'user', host: 'host', path: '/srv/ldm' }, 'sftp:user@host:/srv/ldm'],
    ['user@host:ldm', { user: 'user', host: 'host', path: 'ldm' }, 'sftp:user@host:ldm'],
    ['sftp:host:~/x', { host: 'host', path: 'x' }, 'sftp:host:x'],
    ['sftp:host:/x', { host: 'host', path: '/x' }, 'sftp:host:/x'],
    ['sftp:host/x/y', { host: 'host', path: '/x/y' }, 'sftp:host:/x/y'],
    ['sftp:host:22/x', { host: 'host', port: 22, path: '/x' }, 'sftp:host:22/x'],
    ['sftp:host:22x/y', { host: 'host', path: '22x/y' }, 'sftp:host:22x/y'],
    ['sftp://me@host:22/x', { user: 'me', host: 'host', port: 22, path: '/x' }, 'sftp:me@host:22/x'],
    ['sftp://host/~/x', { host: 'host', path: 'x' }, 'sftp:host:x'],
    ['sftp://host:22/~/x', { host: 'host', port: 22, path: 'x' }, 'sftp://host:22/~/x'],
    ['SFTP:[2001:db8::1]:/x', { host: '2001:db8::1', path: '/x' }, 'sftp:[2001:db8::1]:/x'],
    ['sftp:host:/', { host: 'host', path: '/' }, 'sftp:host:/'],
    ['sftp:host:~//a', { host: 'host', path: 'a' }, 'sftp:host:a'],
    ['sftp:host:/a:b @c', { host: 'host', path: '/a:b @c' }, 'sftp:host:/a:b @c'],
  ])('%s', (place, address, formatted) => {
    expect(isSftpPlace(place)).toBe(true);
    expect(parseSftpPlace(place)).toEqual({ user: undefined, port: undefined, ...address });
    expect(formatSftpPlace(parseSftpPlace(place))).toBe(formatted);
    expect(parseSftpPlace(formatted)).toEqual(parseSftpPlace(place));
  });

  test.each([
    'sftp:',
    'sftp:host',
    'sftp:host:',
    'sftp://host',
    'sftp://host/',
    'sftp:me:secret@host:/x',
    'sftp:-oProxyCommand=x:/y',
    'sftp:-l@host:/y',
    'sftp:host:0/x',
    'sftp:host:70000/x',
    'sftp:@host:/x',
    'sftp:host:~',
    'sftp:host:~me/x',
    'sftp:host:~/~me/x',
    'sftp://host/~',
    'sftp:host:~//',
  ])('cannot be %s', (place) => {
    expect(isSftpPlace(place)).toBe(true);
    expect(() => parseSftpPlace(place)).toThrow(/^the repository /);
    expect(() => parseSftpPlace(place)).not.toThrow(/secret/);
  });

  test.each(['/a/b@c:d', './user@host:/x', 'name', 'a/sftp:x', 's3:https://host/x', 'host:/x'])(
    'is not %s',
    (place) => {
      expect(isSftpPlace(place)).toBe(false);
    },
  );
});
