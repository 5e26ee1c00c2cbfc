import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { DamagedExecutableError, type PackedProgram, unpackProgram } from '../../tools/release/unpack.ts';
import { testProperty } from '../support/property.ts';
import { memoryDirectory, withTemporaryDirectory } from '../support/temp-directory.ts';
import { NOBODY, giveToNobody, isRoot } from '../support/unprivileged.ts';

const USER = process.geteuid!();
const CONTENTS: Readonly<Record<string, string>> = {
  'package.json': '{}',
  'dist/cli/main.js': 'main',
  'dist/parts/a.js': 'part',
  'node_modules/@a/b/native.node': 'native',
};
const PATHS = Object.keys(CONTENTS);
const program: PackedProgram = {
  name: '0.1.0-abc',
  seconds: 1_790_000_000,
  files: Object.entries(CONTENTS).map(([path, text]) => ({
    path,
    size: text.length,
    sha256: createHash('sha256').update(text).digest('hex'),
  })),
};

/** Counts what is asked for, and stops before a file if told so: nothing else of the unpacking would be done then. */
function contents(stopBefore?: string): { asked: string[]; contentOf: (path: string) => Uint8Array } {
  const asked: string[] = [];
  const contentOf = (path: string): Uint8Array => {
    if (path === stopBefore) throw new Error('stopped');
    asked.push(path);
    return Buffer.from(CONTENTS[path]!);
  };
  return { asked, contentOf };
}

function unpack(...places: readonly string[]): { directory: string; asked: readonly string[] } {
  const { asked, contentOf } = contents();
  return { directory: unpackProgram(program, contentOf, places, USER), asked };
}

const readAll = (directory: string): Record<string, string> =>
  Object.fromEntries(PATHS.map((path) => [path, readFileSync(join(directory, path), 'utf8')]));

it('unpacks into a directory that only the user can enter, and only once', () => {
  const place = join(memoryDirectory(), 'cache', 'ldm-program');
  const { directory, asked } = unpack(place);
  expect([directory, asked, readAll(directory)]).toEqual([join(place, program.name), PATHS, CONTENTS]);
  const names = readdirSync(place, { recursive: true, encoding: 'utf8' });
  const open = ['', ...names].filter((name) => (lstatSync(join(place, name)).mode & 0o077) !== 0);
  expect(open).toEqual([]);
  expect(names.filter((name) => name.includes('.new'))).toEqual([]);
  expect(unpack(place)).toEqual({ directory, asked: [] });
});

it('a program with other files gets a directory of its own', () => {
  const place = join(memoryDirectory(), 'ldm-program');
  const { directory } = unpack(place);
  const other = unpackProgram({ ...program, name: '0.2.0-def' }, contents().contentOf, [place], USER);
  expect(readAll(other)).toEqual(readAll(directory));
  expect(readdirSync(place).toSorted()).toEqual([program.name, '0.2.0-def']);
});

const damages: Readonly<Record<string, (path: string) => void>> = {
  missing: (path) => rmSync(path),
  // As after a power cut.
  truncated: (path) => {
    truncateSync(path, 1);
    utimesSync(path, program.seconds, program.seconds);
  },
  changed: (path) => writeFileSync(path, readFileSync(path, 'latin1').toUpperCase()),
  aLink: (path) => {
    renameSync(path, `${path}.moved`);
    symlinkSync(`${path}.moved`, path);
  },
};

// A kill leaves some files, and cleaners of temporary files remove some.
testProperty('whatever is missing or was changed is written again, and nothing else', async (check) => {
  await withTemporaryDirectory((parent) => {
    const kind = fc.constantFrom('intact', ...Object.keys(damages));
    check(
      fc.property(fc.tuple(...PATHS.map(() => kind)), (kinds) => {
        const { directory } = unpack(join(parent, 'ldm-program'));
        const damaged = PATHS.filter((path, index) => {
          damages[kinds[index]!]?.(join(directory, path));
          return kinds[index] !== 'intact';
        });
        expect(unpack(join(parent, 'ldm-program')).asked).toEqual(damaged);
        expect(readAll(directory)).toEqual(CONTENTS);
      }),
      { numRuns: 30 },
    );
  });
});

it.each(PATHS)('an unpacking that stopped before %s is completed', (path) => {
  const place = join(memoryDirectory(), 'ldm-program');
  expect(() => unpackProgram(program, contents(path).contentOf, [place], USER)).toThrow('stopped');
  expect(readAll(unpack(place).directory)).toEqual(CONTENTS);
});

it('an executable with a wrong file is not run from another place either', () => {
  const place = join(memoryDirectory(), 'ldm-program');
  const wrong = (path: string): Uint8Array => Buffer.from(path === 'dist/parts/a.js' ? 'pArt' : CONTENTS[path]!);
  const run = (): string => unpackProgram(program, wrong, [place, `${place}-2`], USER);
  expect(run).toThrow(DamagedExecutableError);
  expect([readdirSync(join(place, program.name)), existsSync(`${place}-2`)]).toEqual([[], false]);
});

/** Makes places that must not be used: nothing may be created in them. */
const unsafe: Readonly<Record<string, (parent: string) => string>> = {
  'below a directory that others can write to': (parent) => {
    chmodSync(parent, 0o777);
    return join(parent, 'cache', 'ldm-program');
  },
  'that others can write to': (parent) => {
    mkdirSync(join(parent, 'ldm-program'));
    chmodSync(join(parent, 'ldm-program'), 0o1777);
    return join(parent, 'ldm-program');
  },
  'that a group can write to': (parent) => {
    mkdirSync(join(parent, 'ldm-program'));
    chmodSync(join(parent, 'ldm-program'), 0o770);
    return join(parent, 'ldm-program');
  },
  'that is a symlink': (parent) => {
    mkdirSync(join(parent, 'elsewhere'), { mode: 0o700 });
    symlinkSync('elsewhere', join(parent, 'ldm-program'));
    return join(parent, 'ldm-program');
  },
  'below a file, as in a home directory that cannot be written to': (parent) => {
    writeFileSync(join(parent, 'file'), '');
    return join(parent, 'file', 'ldm-program');
  },
};

it.each(Object.keys(unsafe))('a place %s is passed over', (kind) => {
  const parent = memoryDirectory();
  const place = unsafe[kind]!(parent);
  const before = readdirSync(parent, { recursive: true });
  expect(() => unpack(place)).toThrow(place);
  expect(readdirSync(parent, { recursive: true })).toEqual(before);
  const second = join(memoryDirectory(), 'ldm-program');
  expect(unpack(place, second).directory).toBe(join(second, program.name));
});

// As root with the home directory of a user, or in a temporary directory where another user was first.
it.each(['ldm-program', 'new/ldm-program'])('a place %s of another user is passed over', (name) => {
  const parent = memoryDirectory();
  mkdirSync(join(parent, 'ldm-program'));
  giveToNobody(parent);
  const [owner, user] = isRoot ? [NOBODY, USER] : [USER, USER + 1];
  const run = (): string => unpackProgram(program, contents().contentOf, [join(parent, name)], user);
  expect(run).toThrow(`belongs to user ${owner}`);
  expect(readdirSync(parent, { recursive: true })).toEqual(['ldm-program']);
});

it('entries of a directory with the sticky bit are the business of their owners', () => {
  const parent = memoryDirectory();
  chmodSync(parent, 0o1777);
  expect(readAll(unpack(join(parent, 'ldm-program')).directory)).toEqual(CONTENTS);
});
