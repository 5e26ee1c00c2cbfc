import { baseName } from '../format/layout.ts';
import { isMisplaced } from '../format/own-names.ts';
import type { FindingOf } from '../session/findings.ts';

/**
 * Finds files that would be read if they were in the right directory. That something is missing there is a finding of its
 * own. A check that cannot see it says what it has seen, by the last parts of names: what is nowhere else is an error.
 */
export function findMisplaced(
  foreignNames: readonly string[],
  seen?: ReadonlySet<string>,
): FindingOf<'file-misplaced'>[] {
  const names = foreignNames.filter((name) => isMisplaced(name));
  return names.map((name) => {
    const severity = seen?.has(baseName(name)) === false ? 'error' : 'warning';
    return { severity, kind: 'file-misplaced', name };
  });
}
