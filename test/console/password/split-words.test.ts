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

/**
 * The words that a shell makes of each text; `undefined` where it refuses one. One shell takes many texts, since starting
 * one takes longer than what it does.
 */
function splitByShell(texts: readonly string[]): (string[] | undefined)[] {
  const script = String.raw`for text; do (eval "for w in $text
do printf '%s\0' \"\$w\"
done"); printf '\n%s\n' $?; done`;
  const { stdout } = spawnSync('sh', ['-c', script, 'sh', ...texts], { encoding: 'utf8' });
  const lines = stdout.split('\n');
  return texts.map((_, index) =>
    lines[2 * index + 1] === '0' ? lines[2 * index]!.split('\0').slice(0, -1) : undefined,
  );
}

function wordsOf(text: string): string[] | undefined {
  try {
    return splitWords(text, 'it');
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return undefined;
  }
}

testProperty('words are split as by a shell', (check) => {
  const parts = fc.constantFrom('a', 'b', ' ', '\t', "'", '"', '\\', 'ö');
  // A backslash at the end joins the next line to this one, which a command of one line has not.
  const text = fc
    .array(parts, { maxLength: 15 })
    .map((characters) => `x ${characters.join('')}`)
    .filter((each) => !each.endsWith('\\'));
  check(
    fc.property(fc.array(text, { minLength: 50, maxLength: 50 }), (texts) => {
      expect(texts.map(wordsOf)).toEqual(splitByShell(texts));
    }),
    { numRuns: 20 },
  );
});
