/** The largest number of wrong letters for which a name is suggested. */
const WRONG_LETTERS_MAX = 2;

/** Returns `. Did you mean exclude?`, or an empty text if no name is similar. */
export function suggestionFor(word: string, names: readonly string[]): string {
  const close = names
    .map((name) => ({ name, distance: editDistance(word, name) }))
    .filter(({ name, distance }) => distance <= Math.min(WRONG_LETTERS_MAX, name.length / 2))
    .sort((a, b) => a.distance - b.distance);
  return close[0] === undefined ? '' : `. Did you mean ${close[0].name}?`;
}

/** The optimal string alignment distance: letters to add, remove, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = Array.from({ length: a.length + 1 }, (_, i) => [i]);
  for (let j = 0; j <= b.length; j += 1) rows[0]![j] = j;
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? rows[i - 2]![j - 2]! + 1 : Infinity;
      rows[i]![j] = Math.min(replaced, rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1, swapped);
    }
  }
  return rows[a.length]![b.length]!;
}
