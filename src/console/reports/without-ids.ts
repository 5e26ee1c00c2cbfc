/** What messages about damage say of chunks and packs, whose ids mean nothing to most people, and what is said instead. */
const REPLACEMENTS: readonly (readonly [pattern: RegExp, text: string])[] = [
  [/, such as [0-9a-f]{40}\b/g, ''],
  [/: [0-9a-f]{40}$/g, ''],
  [/\b(?:the )?(chunk|tree) [0-9a-f]{40}\b/g, 'a $1'],
  [/ in pack [0-9a-f]{64}(?: at offset \d+)?/g, ''],
  [/\b(?:the )?pack [0-9a-f]{64}\b/g, 'a pack'],
  [/\b[0-9a-f]{40}\b(?= (?:is|has)\b)/g, 'one'],
];

/** Takes the ids of chunks and packs out of a message for people. Names of files in the repository stay. */
export function withoutIds(message: string): string {
  return REPLACEMENTS.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), message);
}
