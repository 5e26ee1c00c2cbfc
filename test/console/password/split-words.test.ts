import { spawnSync } from 'node:child_process';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { splitWords } from '../../../src/console/password/split-words.ts';
import { UsageError } from '../../../src/core/errors.ts';
import { testProperty } from '../../support/property.ts';

test.each<[string, readonly string[]]>([
  ['pass show backup', ['pass', 'show', 'backup']],
  ['  pass\tshow  \n', ['pass', 'show']],
  [`echo 'two words' "more words"`, ['echo', 'two words', 'more words']],
  [`a"b c"'d e'f`, ['ab cd ef']],
  [`echo ''`, ['echo', '']],
  [String.raw`echo two\ words \\ \'`, ['echo', 'two words', '\\', "'"]],
  [String.raw`echo "a \"b\" \\ \n"`, ['echo', 'a "b" \\ \\n']],
  [String.raw`echo '\'`, ['echo', '\\']],
  ['echo $HOME ~ | cat', ['echo', '$HOME', '~', '|', 'cat']],
])('%s', (text, words) => {
  expect(splitWords(text, '--password-command')).toEqual(words);
});

test.each([
  [`echo 'open`, "--password-command has no closing '"],
  ['echo "open', '--password-command has no closing "'],
  ['echo \\', '--password-command ends with a backslash'],
  ['   ', '--password-command names no command'],
  ['""', '--password-command names no command'],
])('%s is refused', (text, message) => {
  expect(() => splitWords(text, '--password-command')).toThrow(new UsageError(message));
});

testProperty('words are split as by a shell', (check) => {
  const parts = fc.constantFrom('a', 'b', ' ', '\t', "'", '"', '\\', 'ö');
  check(
    fc.property(fc.array(parts, { maxLength: 15 }), (characters) => {
      const text = `x ${characters.join('')}`;
      const { status, stdout } = spawnSync('sh', ['-c', `for w in ${text}\ndo printf '%s\\0' "$w"\ndone`], {
        encoding: 'utf8',
      });
      let words: string[] | undefined;
      try {
        words = splitWords(text, 'it');
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError);
      }
      // A backslash at the end joins the next line to this one, which a command of one line has not.
      if (status === 0 && !text.endsWith('\\')) expect(words).toEqual(stdout.split('\0').slice(0, -1));
      else if (!text.endsWith('\\')) expect(words).toBeUndefined();
    }),
    { numRuns: 200 },
  );
});
