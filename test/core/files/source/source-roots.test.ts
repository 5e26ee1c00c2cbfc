import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { resolveRoots } from '../../../../src/core/files/source/source-roots.ts';
import type { SourceRoots } from '../../../../src/core/files/source/source-roots.ts';
import { byteStringFromText, fsPath, joinPath } from '../../../../src/core/util/byte-string.ts';
import type { PathInput } from '../../../../src/core/util/byte-string.ts';
import { compileForChild } from '../../../support/compile-for-child.ts';
import { countStringCalls } from '../../../support/counted-searches.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { giveToNobody, withoutPrivileges } from '../../../support/unprivileged.ts';
import { bytes } from '../sample-entry.ts';

/** A directory with some files (paths that end in "/" are directories). */
function directoryWith(...paths: string[]): string {
  const directory = temporaryDirectory();
  for (const path of paths) {
    mkdirSync(join(directory, path.endsWith('/') ? path : join(path, '..')), { recursive: true });
    if (!path.endsWith('/')) writeFileSync(join(directory, path), '');
  }
  return directory;
}

function names(directory: string, { roots }: SourceRoots): string[] {
  return roots.map((root) => root.replace(`${directory}/`, ''));
}

describe('paths', () => {
  it('become absolute, normalised, sorted, and each once', async () => {
    const directory = directoryWith('b/', 'a/x', 'a b');
    const result = await resolveRoots(['./b//', 'a/../a/./x', join(directory, 'b'), 'a b'], directory);
    expect(names(directory, result)).toEqual(['a b', 'a/x', 'b']);
    expect(result).toMatchObject({ missing: [], failures: [] });
  });

  it('under another are merged into it, also where other names sort between', async () => {
    const directory = directoryWith('a/b/c', 'a-z', 'a.z', 'ab');
    const result = await resolveRoots(['a/b/c', 'a-z', 'a/b', 'a', 'a.z', 'ab'], directory);
    expect(names(directory, result)).toEqual(['a', 'a-z', 'a.z', 'ab']);
    expect((await resolveRoots(['a', '/'], directory)).roots).toEqual(['/']);
    expect((await resolveRoots(['.', 'a'], directory)).roots).toEqual([directory]);
  });

  it('that are links below others are found without comparing each with each', async () => {
    const count = 300;
    const directory = directoryWith('links/', 'target/x');
    const words = Array.from({ length: count }, (_, index) => `links/${index}`);
    for (const word of words) symlinkSync('../target', join(directory, word));
    const calls = countStringCalls('startsWith');
    const separate = await resolveRoots(words, directory);
    expect(separate.roots).toHaveLength(count);
    const together = await resolveRoots([...words, 'links'], directory);
    expect(names(directory, together)).toEqual(['links', 'target']);
    expect(calls.count).toBeLessThan(30 * count);
  });

  it('that do not exist are reported as given', async () => {
    const directory = directoryWith('file');
    const words = ['./gone', '', 'file/below', 'file', 'no*match'];
    const result = await resolveRoots(words, directory, { paths: ['listed*'] });
    expect(result.missing).toEqual([
      { name: './gone', isPattern: false },
      { name: '', isPattern: false },
      { name: 'file/below', isPattern: false },
      { name: 'no*match', isPattern: true },
      // A list of paths has no patterns.
      { name: 'listed*', isPattern: false },
    ]);
    expect(names(directory, result)).toEqual(['file']);
  });

  it('that the system keeps from us are failures, not missing', async () => {
    const directory = directoryWith('closed/file');
    chmodSync(join(directory, 'closed'), 0);
    giveToNobody(directory);
    const result = await withoutPrivileges(async () => resolveRoots(['closed/file'], directory));
    expect(result).toMatchObject({ missing: [], failures: [{ code: 'SOURCE', errno: 'EACCES' }] });
    chmodSync(join(directory, 'closed'), 0o700);
  });

  it('after a symlink, take ".." as the system does', async () => {
    const directory = directoryWith('deep/inner/', 'deep/file', 'other/file');
    symlinkSync('../deep/inner', join(directory, 'other/link'));
    const result = await resolveRoots(['other/link/../file'], directory);
    expect(names(directory, result)).toEqual(['deep/file']);
  });
});

describe('symlinks', () => {
  it('that were named are followed, and say so', async () => {
    const directory = directoryWith('real/', 'file');
    symlinkSync('real', join(directory, 'link'));
    symlinkSync('gone', join(directory, 'dangling'));
    const result = await resolveRoots(['link/', 'file', 'dangling'], directory);
    expect(names(directory, result)).toEqual(['dangling', 'file', 'link']);
    expect([...result.followed]).toEqual([[join(directory, 'link'), join(directory, 'real')]]);
  });

  it('that a pattern found are not followed', async () => {
    const directory = directoryWith('real/');
    symlinkSync('real', join(directory, 'link'));
    const result = await resolveRoots(['l*'], directory);
    expect(names(directory, result)).toEqual(['link']);
    expect(result.followed.size).toBe(0);
  });

  it('under another root stay links, and what they lead to is saved by its own name', async () => {
    const directory = directoryWith('a/file', 'elsewhere/');
    symlinkSync('../elsewhere', join(directory, 'a/link'));
    symlinkSync('file', join(directory, 'a/inside'));
    const result = await resolveRoots(['a', 'a/link', 'a/inside'], directory);
    expect(names(directory, result)).toEqual(['a', 'elsewhere']);
    expect(result.followed.size).toBe(0);
  });

  it('are not lost when the target of another becomes a root above them', async () => {
    const directory = directoryWith('a/', 'b/', 'elsewhere/');
    symlinkSync('../b', join(directory, 'a/link'));
    symlinkSync('../elsewhere', join(directory, 'b/link'));
    const result = await resolveRoots(['b/link', 'a/link', 'a'], directory);
    expect(names(directory, result)).toEqual(['a', 'b', 'elsewhere']);
  });
});

describe('patterns', () => {
  it('are expanded, dot files and directories too', async () => {
    const directory = directoryWith('one.txt', 'two.txt', '.three.txt', 'sub.txt/', 'other', 'deep/er/four.txt');
    expect(names(directory, await resolveRoots(['*.txt'], directory))).toEqual([
      '.three.txt',
      'one.txt',
      'sub.txt',
      'two.txt',
    ]);
    expect(names(directory, await resolveRoots(['**/four*', '{one,two}.txt'], directory))).toEqual([
      'deep/er/four.txt',
      'one.txt',
      'two.txt',
    ]);
    expect(names(directory, await resolveRoots([`${directory}/o*`], '/'))).toEqual(['one.txt', 'other']);
    expect(names(directory, await resolveRoots(['../deep/e?'], join(directory, 'sub.txt')))).toEqual(['deep/er']);
  });

  it('are literal where something has that very name', async () => {
    const directory = directoryWith('a*', 'abc', '[x]/', 'x/', '\\*');
    expect(names(directory, await resolveRoots(['a*', '[x]', '\\*'], directory))).toEqual(['[x]', '\\*', 'a*']);
    expect(names(directory, await resolveRoots(['[a]*'], directory))).toEqual(['a*', 'abc']);
    expect(names(directory, await resolveRoots(['[a]\\*'], directory))).toEqual(['a*']);
  });

  it('find names that are not UTF-8, beside those that are', async () => {
    const directory = temporaryDirectory();
    const odd = bytes(directory, '/caf', 0xe9);
    const even = bytes(directory, '/café');
    for (const path of [odd, even]) writeFileSync(fsPath(path), '');
    expect((await resolveRoots(['caf*'], directory)).roots).toEqual([even, odd]);
    expect((await resolveRoots(['caf?'], directory)).roots).toEqual([even, odd]);
    expect((await resolveRoots(['café'], directory)).roots).toEqual([even]);
  });
});

describe.runIf(process.platform === 'linux')('arguments that are not UTF-8', () => {
  it('are recovered from the system, also as patterns and as the current directory', async () => {
    const paths = [
      'core/files/source/source-roots.ts',
      'core/files/paths/current-directory.ts',
      'console/input/raw-arguments.ts',
      'core/util/byte-string.ts',
    ];
    const built = await Promise.all(
      paths.map(async (path) => compileForChild(join(import.meta.dirname, '../../../../src', path))),
    );
    onTestFinished(() => built.forEach((each) => each.remove()));
    const [roots, directories, args, strings] = built.map((each) => JSON.stringify(each.path));
    const directory = bytes(temporaryDirectory(), '/', 0xfe);
    mkdirSync(fsPath(directory));
    for (const byte of [0xe8, 0xe9]) writeFileSync(fsPath(joinPath(directory, bytes('caf', byte))), '');
    const program = `
      import { resolveRoots } from ${roots};
      import { currentDirectory } from ${directories};
      import { pathInputs } from ${args};
      import { bytesOf } from ${strings};
      const result = await resolveRoots(pathInputs(process.argv.slice(1)), bytesOf(currentDirectory()));
      console.log(JSON.stringify(result));`;
    // Node cannot pass such arguments either, so a shell does.
    const command = `cd "$(printf '%s/\\376' "$1")" && exec "$2" --input-type=module -e "$3" -- "$(printf 'caf\\351')" "$(printf 'caf\\350')" "$(printf 'gone\\377')" "$(printf '../\\376/c*f\\350')"`;
    const parent = directory.slice(0, -2);
    const { stdout, stderr } = spawnSync('sh', ['-c', command, 'sh', parent, process.execPath, program], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({
      roots: [0xe8, 0xe9].map((byte) => joinPath(directory, bytes('caf', byte))),
      missing: [{ name: 'gone\xff', isPattern: false }],
    });
  });
});

it('takes bytes as they are, and a replacement character in text for itself', async () => {
  const directory = bytes(temporaryDirectory());
  for (const name of [bytes(0xff), byteStringFromText('\ufffd')]) writeFileSync(fsPath(joinPath(directory, name)), '');
  const resolve = async (path: PathInput): Promise<string[]> => (await resolveRoots([path], directory)).roots;
  expect(await resolve(Buffer.from([0xff]))).toEqual([joinPath(directory, bytes(0xff))]);
  expect(await resolve('\ufffd')).toEqual([joinPath(directory, byteStringFromText('\ufffd'))]);
});

it('takes text as UTF-8', async () => {
  const directory = directoryWith('é/');
  expect((await resolveRoots(['é'], directory)).roots).toEqual([byteStringFromText(join(directory, 'é'))]);
});
