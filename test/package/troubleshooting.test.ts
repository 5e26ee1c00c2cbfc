import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { describe, expect, it } from 'vitest';

import { ROOT } from './installed-package.ts';

const PAGE = readFileSync(join(ROOT, 'docs/troubleshooting.md'), 'utf8');
const SOURCES = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(join(ROOT, 'src', name), 'utf8').replaceAll(/^ *(?:\/?\*|\/\/).*$/gm, ''));
/** What the system says about its own errors. */
const SYSTEM = [...getSystemErrorMap().values()].map((words) => words.join(' '));

const messages = [...PAGE.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading!.replaceAll('`', ''));

/** The words of a message that are always the same. */
function fixedWords(message: string): string[] {
  return message
    .split(/<[^>]*>|[()]/)
    .map((part) => part.replaceAll(/^[\s:;,.]+|[\s:;,.]+$/g, ''))
    .filter((part) => part !== '');
}

describe('docs/troubleshooting.md', () => {
  it('has messages', () => {
    expect(messages.length).toBeGreaterThan(40);
    expect(fixedWords('a <place> (of <b>): c.')).toEqual(['a', 'of', 'c']);
  });

  it.each(messages)('quotes a message of the program: %s', (message) => {
    const words = fixedWords(message);
    expect(words).not.toEqual([]);
    expect([...SOURCES, ...SYSTEM].some((source) => words.every((part) => source.includes(part)))).toBe(true);
  });
});
