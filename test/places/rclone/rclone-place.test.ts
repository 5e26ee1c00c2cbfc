import { describe, expect, test } from 'vitest';

import { formatRclonePlace, isRclonePlace, parseRclonePlace } from '../../../src/places/rclone/rclone-place.ts';

describe('a place in a remote of rclone', () => {
  test.each([
    ['rclone:disk:a/b', { remote: 'disk', path: 'a/b' }, 'rclone:disk:a/b'],
    ['rclone:disk:/a/b//', { remote: 'disk', path: '/a/b' }, 'rclone:disk:/a/b'],
    ['rclone:disk:/', { remote: 'disk', path: '/' }, 'rclone:disk:/'],
    ['RCLONE:my disk@1:', { remote: 'my disk@1', path: '' }, 'rclone:my disk@1:'],
    ['rclone:disk:a:b', { remote: 'disk', path: 'a:b' }, 'rclone:disk:a:b'],
    ['rclone::local:/x', { remote: ':local', path: '/x' }, 'rclone::local:/x'],
    ['rclone:drive,shared_with_me:x', { remote: 'drive,shared_with_me' }, 'rclone:drive,shared_with_me:x'],
    [
      'rclone::http,url="https://host:80/":x',
      { remote: ':http,url="https://host:80/"', path: 'x' },
      'rclone::http,url="https://host:80/":x',
    ],
  ])('is %s', (place, parts, shortest) => {
    expect(isRclonePlace(place)).toBe(true);
    expect(parseRclonePlace(place)).toMatchObject(parts);
    expect(formatRclonePlace(parseRclonePlace(place))).toBe(shortest);
    expect(parseRclonePlace(shortest)).toEqual(parseRclonePlace(place));
  });

  test.each(['rclone:', 'rclone:disk', 'rclone:/a/b', 'rclone::', 'rclone:disk:a\0', 'rclone:a/b:c'])(
    'is not %j',
    (place) => {
      expect(() => parseRclonePlace(place)).toThrow('is not a remote of rclone');
    },
  );

  test.each([
    'rclone::sftp,host=h,pass=verysecret:x',
    'rclone::sftp,host=h,key_file_pass=verysecret:x',
    'rclone::s3,secret_access_key="verysecret":x',
    'rclone::azureblob,sas_url="https://h/c?sig=verysecret":x',
    'rclone::webdav,url="https://me:verysecret@host/":x',
  ])('has no password, and an error does not show it (%s)', (place) => {
    expect(() => parseRclonePlace(place)).toThrow(/^the repository contains a password or a key$/);
  });

  test('can name a file with a key', () => {
    const place = 'rclone::sftp,host=h,key_file=/home/me/.ssh/backup:x';
    expect(parseRclonePlace(place)).toMatchObject({ path: 'x' });
  });
});
