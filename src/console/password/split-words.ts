import { UsageError } from '../../core/errors.ts';

/**
 * Splits a command line into words as a POSIX shell does: at white space, with single quotes, double quotes and
 * backslashes. Nothing else has a meaning: no variables, no `~`, no pipes.
 * @param origin - the option or variable, for messages
 */
export function splitWords(text: string, origin: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index]!;
    const escapes = character === '\\' && (quote === '' || (quote === '"' && /["\\]/.test(text[index + 1] ?? '')));
    if (escapes) {
      index += 1;
      if (index === text.length) throw new UsageError(`${origin} ends with a backslash`);
      word = (word ?? '') + text[index]!;
    } else if (character === quote) {
      quote = '';
    } else if (quote === '' && (character === '"' || character === "'")) {
      quote = character;
      word ??= '';
    } else if (quote === '' && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote !== '') throw new UsageError(`${origin} has no closing ${quote}`);
  if (word !== undefined) words.push(word);
  if (words[0] === undefined || words[0] === '') throw new UsageError(`${origin} names no command`);
  return words;
}
