import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import {
  OK,
  NO_SUCH_FILE,
  PERMISSION_DENIED,
  FAILURE,
  BAD_MESSAGE,
  uint64,
  text,
  extended,
  open,
  chain,
  expectSize,
  write,
  read,
  close,
  readDirectory,
  makeDirectory,
  remove,
  rename,
  sync,
  NEW,
  answersTo,
  statusesOf,
} from './raw-requests.ts';
import type { Request } from './raw-requests.ts';
import { FLAGS } from '../../support/serve-client.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

describe('a handle that the client chooses', () => {
  it('can be used at once', async () => {
    const directory = temporaryDirectory();
    const requests = [
      open('=a', '/file', NEW),
      write('=a', 'content'),
      sync('=a'),
      close('=a'),
      open('=a', '/file', FLAGS.READ),
      read('=a'),
      open('=b', '/', 0),
      readDirectory('=b'),
      close('=b'),
      open('=b', '/', FLAGS.READ),
      sync('=b'),
    ];
    const answers = await answersTo(directory, requests);
    expect(answers[5]!.toString()).toContain('content');
    expect(answers[7]!.toString()).toContain('file');
    const others = answers.filter((_, index) => index !== 5 && index !== 7);
    expect(others.map((answer) => answer.readUInt32BE(5))).toEqual(others.map(() => OK));
  });

  it('is refused if it is in use, or could be one of the server', async () => {
    const directory = temporaryDirectory();
    const handles = ['=a', '', 'a', 'f1', '=', `=${'x'.repeat(64)}`, '= ', '=\n', '=\0'];
    const requests = handles.map((handle) => open(handle, '/', 0));
    expect(await statusesOf(directory, [open('=a', '/file', NEW), ...requests])).toEqual([
      OK,
      FAILURE,
      ...requests.slice(1).map(() => BAD_MESSAGE),
    ]);
  });

  it('is none if the file cannot be opened', async () => {
    const requests = [open('=a', '/none', FLAGS.READ), read('=a'), close('=a'), open('=a', '/file', NEW)];
    expect(await statusesOf(temporaryDirectory(), requests)).toEqual([NO_SUCH_FILE, FAILURE, FAILURE, OK]);
  });
});

it('a file is expected with a size', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'file'), '12345');
  mkdirSync(join(directory, 'directory'));
  const huge = Buffer.alloc(8, 255);
  expect(
    await statusesOf(directory, [
      expectSize('/file', 5, 5),
      extended('expect@ldm', text('/file'), uint64(0), huge),
      expectSize('/file', 0, 4),
      expectSize('/file', 6, 2 ** 40),
      extended('expect@ldm', text('/file'), huge, huge),
      expectSize('/none', 0, 5),
      expectSize('/directory', 0, 2 ** 40),
    ]),
  ).toEqual([OK, OK, FAILURE, FAILURE, FAILURE, NO_SUCH_FILE, FAILURE]);
});

describe('a chain', () => {
  it('is done to its end, and what comes after it too', async () => {
    const directory = temporaryDirectory();
    const requests = [chain(3), makeDirectory('/a'), makeDirectory('/b'), remove('/none'), makeDirectory('/c')];
    expect(await statusesOf(directory, requests)).toEqual([OK, OK, OK, NO_SUCH_FILE, OK]);
    expect(readdirSync(directory).toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('goes on at the end of a file or listing', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'file'), '');
    mkdirSync(join(directory, 'empty'));
    const ends = [open('=f', '/file', FLAGS.READ), read('=f'), open('=d', '/empty', 0), readDirectory('=d')];
    expect((await statusesOf(directory, [chain(5), ...ends, makeDirectory('/a')])).at(-1)).toBe(OK);
  });

  const failing: readonly (readonly [string, Request])[] = [
    ['a file is missing', remove('/none')],
    ['a file is expected', expectSize('/none', 0, 1)],
    ['an operation is unsupported', [15, text('/kept')]],
    ['an extension is unknown', extended('unknown@ldm')],
    ['a request has no fields', extended('expect@ldm')],
    ['a handle is unknown', sync('=none')],
  ];
  it.each(failing)('stops where %s', async (_, request) => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'kept'));
    const requests = [
      chain(4),
      makeDirectory('/a'),
      request,
      makeDirectory('/b'),
      remove('/kept'),
      makeDirectory('/c'),
    ];
    const statuses = await statusesOf(directory, requests);
    expect(statuses[2]).not.toBe(OK);
    expect(statuses.filter((__, index) => index !== 2)).toEqual([OK, OK, FAILURE, FAILURE, OK]);
    expect(readdirSync(directory).toSorted()).toEqual(['a', 'c', 'kept']);
  });

  it('is not done at all if its beginning is wrong', async () => {
    const directory = temporaryDirectory();
    const [one, other] = [makeDirectory('/a'), makeDirectory('/b')];
    expect(await statusesOf(directory, [chain(4097), one, other])).toEqual([BAD_MESSAGE, FAILURE, FAILURE]);
    expect(await statusesOf(directory, [chain(2), chain(2), one, other])).toEqual([OK, BAD_MESSAGE, FAILURE, FAILURE]);
    const failed = [chain(2), remove('/none'), chain(2), one, other];
    expect(await statusesOf(directory, failed)).toEqual([OK, NO_SUCH_FILE, BAD_MESSAGE, FAILURE, FAILURE]);
    for (const fields of [[], [Buffer.alloc(3)], [Buffer.alloc(5)]])
      expect(await statusesOf(directory, [extended('chain@ldm', ...fields), one])).toEqual([BAD_MESSAGE, FAILURE]);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('does nothing that the server refuses outside of one', async () => {
    const directory = temporaryDirectory();
    for (const name of ['tmp', 'locks', 'snapshots']) mkdirSync(join(directory, name));
    const stored = `snapshots/${'a'.repeat(64)}`;
    const temporary = `tmp/${'b'.repeat(32)}`;
    writeFileSync(join(directory, stored), 'stored');
    for (const request of [
      open('=a', `/${stored}`, FLAGS.WRITE),
      open('=a', `/${stored}`, FLAGS.READ | FLAGS.TRUNC),
      open('=a', `/snapshots/${'c'.repeat(64)}`, NEW),
      remove(`/${stored}`),
    ]) {
      const requests = [request, chain(1), request];
      expect(await statusesOf(directory, requests, { isAppendOnly: true })).toEqual([
        PERMISSION_DENIED,
        OK,
        PERMISSION_DENIED,
      ]);
    }
    // A file that is open under a chosen handle cannot be written any more once it has its final name.
    const target = `/snapshots/${'d'.repeat(64)}`;
    const renamed = [
      open('=t', `/${temporary}`, NEW),
      write('=t', 'one'),
      rename(`/${temporary}`, target),
      write('=t', 'two'),
    ];
    expect(await statusesOf(directory, [chain(4), ...renamed], { isAppendOnly: true })).toEqual([
      OK,
      OK,
      OK,
      OK,
      PERMISSION_DENIED,
    ]);
    expect(readFileSync(join(directory, stored), 'utf8')).toBe('stored');
    expect(readFileSync(join(directory, target), 'utf8')).toBe('one');
  });
});

it('a file of which not everything could be written is not synced', async () => {
  const directory = temporaryDirectory();
  const requests = [
    open('=a', '/file', NEW),
    write('=a', 'x'.repeat(5000)),
    write('=a', 'y'),
    chain(2),
    sync('=a'),
    rename('/file', '/named'),
  ];
  const expected = [OK, FAILURE, OK, OK, FAILURE, FAILURE];
  expect(await statusesOf(directory, requests, { quotaBytes: 4096 })).toEqual(expected);
  expect(existsSync(join(directory, 'named'))).toBe(false);
});
