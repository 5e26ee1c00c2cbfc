import { splitWords } from '../../console/password/split-words.ts';
import type { Candidate, Completion } from './candidates.ts';
import type { Cursor } from './command-line.ts';

/** Returns the words of the command line. bash passes what is before the cursor as one text, which it has not split. */
export function wordsToComplete(shell: string, given: readonly string[]): string[] {
  if (shell !== 'bash') return [...given];
  const line = given.join(' ');
  for (const quote of ['', '"', "'"]) {
    try {
      const words = splitWords(line + quote, 'the command line');
      return [...words.slice(1), ...(quote === '' && /\s$/.test(line) ? [''] : [])];
    } catch {
      // A quote is open, or nothing was typed.
    }
  }
  return [''];
}

/** Formats the answer to a shell: a line that says what the shell must complete, and a line for each candidate. */
export function formatAnswer(shell: string, { current, before }: Cursor, { candidates, wanted }: Completion): string {
  const matching = candidates.filter(({ value }) => value.startsWith(current));
  const lines = matching.map((candidate) => lineOf(shell, candidate, { current, before }));
  return [wanted === 'files' || wanted === 'directories' ? wanted : '', ...lines].map((line) => `${line}\n`).join('');
}

/** bash replaces only what follows the last `:` or `=`, at which it splits words, and does not quote by itself. */
function lineOf(
  shell: string,
  { value, description }: Candidate,
  { current, before }: { readonly current: string; readonly before: string },
): string {
  if (shell !== 'bash') return `${before}${value}\t${description}`.replaceAll('\n', ' ');
  const kept = Math.max(current.lastIndexOf(':'), current.lastIndexOf('=')) + 1;
  return value
    .slice(kept)
    .replaceAll(/[^\w@%+=:,./-]/g, (character) => (character === '\n' ? "$'\\n'" : `\\${character}`));
}
