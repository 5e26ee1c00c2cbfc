import type { Prng } from './prng.ts';

/**
 * restic's filter step by step as its source has it, without regular expressions: a model to compare with. Where `root`
 * is given, what a pattern excludes has to lie below it, which is how ldm differs: restic also excludes a root that was
 * named, and everything in it.
 */
export function resticExcludes(patterns: readonly string[], path: string, root = ''): boolean {
  const names = ['/', ...path.slice(1).split('/')];
  const rootLength = root === '' ? 0 : root.split('/').length;
  let isExcluded = false;
  for (const pattern of patterns) {
    const isNegated = pattern.startsWith('!');
    const parts = partsOf(isNegated ? pattern.slice(1) : pattern);
    if (matchesAnywhere(parts, names, isNegated ? 0 : rootLength)) isExcluded = !isNegated;
  }
  return isExcluded;
}

/** `**` is an empty part, and a leading slash a part of its own. */
function partsOf(pattern: string): string[] {
  const cleaned: string[] = [];
  const isAbsolute = pattern.startsWith('/');
  for (const part of pattern.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && cleaned.length > 0 && cleaned.at(-1) !== '..') cleaned.pop();
    else if (part !== '..' || !isAbsolute) cleaned.push(part);
  }
  const parts = cleaned.map((part) => (part === '**' ? '' : part));
  if (isAbsolute) return parts.length === 0 ? ['/', ''] : ['/', ...parts];
  return parts.length === 0 ? ['.'] : parts;
}

/** Whether a run of names matches that ends beyond the first `endMin`. */
function matchesAnywhere(parts: readonly string[], names: readonly string[], endMin: number): boolean {
  const wildcard = parts.indexOf('');
  if (wildcard >= 0) {
    // restic tries fewer where a pattern has several `**`, and then misses matches that it documents.
    for (let count = 0; count <= names.length; count += 1) {
      const stars = Array.from({ length: count }, () => '*');
      if (matchesAnywhere([...parts.slice(0, wildcard), ...stars, ...parts.slice(wildcard + 1)], names, endMin))
        return true;
    }
    return false;
  }
  if (parts.length === 0) return names.length === 0;
  const first = parts[0] === '/' ? 0 : 1;
  const last = parts[0] === '/' ? 0 : names.length - parts.length;
  for (let offset = first; offset <= last; offset += 1) {
    const end = offset + parts.length;
    if (end > names.length || end <= endMin) continue;
    if (parts.every((part, i) => matchesName(part, names[offset + i]!))) return true;
  }
  return false;
}

/** By recursion over characters. Malformed patterns are not for this model. */
function matchesName(pattern: string, name: string): boolean {
  return pattern === '/' ? name === '/' : matchesCharacters(Array.from(pattern), Array.from(name));
}

function matchesCharacters(pattern: readonly string[], name: readonly string[]): boolean {
  const [head, ...rest] = pattern;
  if (head === undefined) return name.length === 0;
  if (head === '*') return name.some((_, i) => matchesCharacters(rest, name.slice(i))) || matchesCharacters(rest, []);
  const [first, ...others] = name;
  if (first === undefined) return false;
  if (head === '?') return matchesCharacters(rest, others);
  if (head === '\\') return rest[0] === first && matchesCharacters(rest.slice(1), others);
  if (head !== '[') return head === first && matchesCharacters(rest, others);
  const isNegated = rest[0] === '^';
  let i = isNegated ? 1 : 0;
  let isIn = false;
  const character = (): string => {
    if (rest[i] === '\\') i += 1;
    i += 1;
    return rest[i - 1]!;
  };
  while (rest[i] !== ']') {
    const low = character();
    let high = low;
    if (rest[i] === '-') {
      i += 1;
      high = character();
    }
    if (low <= first && first <= high) isIn = true;
  }
  return isIn !== isNegated && matchesCharacters(rest.slice(i + 1), others);
}

const NAMES = [
  'a',
  'b',
  'ab',
  'abc',
  '.a',
  'a.b',
  'é',
  'a(b)',
  '{a,b}',
  '[',
  'a*',
  'B',
  '-',
  '^',
  '!a',
  'a b',
  '+',
  '\n',
];
const ELEMENTS = [
  'a',
  'b',
  'ab',
  '*',
  '*',
  '?',
  '[ab]',
  '[^a]',
  '[a-c]',
  '[c-a]',
  '[^c-a]',
  '[.-0]',
  '\\[',
  '\\*',
  '.',
  'é',
];
const EXTRAS = ['(', ')', '{', '}', ',', '+', '^', '$', '|', ']', '[\\]^]', '[é-ü]', '-', ' '];

export function randomName(prng: Prng): string {
  return prng.pick(NAMES);
}

/** A well-formed pattern that begins with `start`, such as `/tmp/x/`. */
export function randomPattern(prng: Prng, start = ''): string {
  const names = Array.from({ length: 1 + prng.int(4) }, () => {
    if (prng.int(4) === 0) return '**';
    if (prng.int(3) === 0) return prng.pick(['a', 'b', 'ab', 'a(b)', '{a,b}', '**b', 'a**', '.', 'é']);
    const elements = Array.from({ length: 1 + prng.int(3) }, () => prng.pick(prng.int(4) === 0 ? EXTRAS : ELEMENTS));
    return elements.join('');
  });
  return `${prng.int(4) === 0 ? '!' : ''}${start}${names.join('/')}${prng.int(6) === 0 ? '/' : ''}`;
}
