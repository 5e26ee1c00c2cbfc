import { describe, expect, test } from 'vitest';

import { formatS3Place, isS3Place, parseS3Place } from '../../../src/places/s3/s3-place.ts';

describe('a place in a bucket', () => {
  test.each([
    ['s3:https://host/bucket', { endpoint: 'https://host', bucket: 'bucket', prefix: '' }, 's3:https://host/bucket'],
    ['s3:https://host/bucket/', { bucket: 'bucket', prefix: '' }, 's3:https://host/bucket'],
    [
      's3:http://localhost:7480/b1/x/y/',
      { endpoint: 'http://localhost:7480', prefix: 'x/y' },
      's3:http://localhost:7480/b1/x/y',
    ],
    ['s3:s3.amazonaws.com/bucket/x', { endpoint: 'https://s3.amazonaws.com' }, 's3:https://s3.amazonaws.com/bucket/x'],
    ['S3://host:9000/bucket/x', { endpoint: 'https://host:9000', prefix: 'x' }, 's3:https://host:9000/bucket/x'],
    [
      's3:https://[::1]:80/bucket/ü %41',
      { endpoint: 'https://[::1]:80', prefix: 'ü %41' },
      's3:https://[::1]:80/bucket/ü %41',
    ],
  ])('is %s', (place, parts, shortest) => {
    expect(isS3Place(place)).toBe(true);
    expect(parseS3Place(place)).toMatchObject(parts);
    expect(formatS3Place(parseS3Place(place))).toBe(shortest);
    expect(parseS3Place(shortest)).toEqual(parseS3Place(place));
  });

  test.each([
    's3:',
    's3:https://',
    's3:https://host',
    's3:https://host/',
    's3://bucket/x',
    's3:bucket/x',
    's3:https://host//x',
    's3:https://key:secret@host/bucket',
    's3:https://secret@host/bucket',
    's3:https://host/bucket?x=secret',
    's3:https://host/bucket/../x',
    's3:https://host/bucket//x',
    's3:https://host/-b/x',
    's3:https://host:99999/bucket',
  ])('cannot be %s', (place) => {
    expect(isS3Place(place)).toBe(true);
    expect(() => parseS3Place(place)).toThrow(/^the repository /);
    expect(() => parseS3Place(place)).not.toThrow(/secret/);
  });

  test.each(['/s3:x', './s3:x', 's3', 'sftp:host:/x'])('is not %s', (place) => {
    expect(isS3Place(place)).toBe(false);
  });
});
