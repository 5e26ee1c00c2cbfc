import { SourceError, UsageError } from '../../errors.ts';
import { mayBePattern } from '../../files/glob-expansion.ts';
import { commonParent, resolveRoots } from '../../files/source-roots.ts';
import type { ByteString, PathInput } from '../../util/byte-string.ts';
import { byteStringFromText } from '../../util/byte-string.ts';
import type { SourceProblem } from './problems.ts';

/** A name on the path from the common parent to the roots. */
export interface PlannedName {
  /** True for a root, where everything below is saved. False for a directory of which only `children` are saved. */
  readonly isRoot: boolean;
  readonly children: Map<ByteString, PlannedName>;
}

/** The sources of a backup, arranged like its root tree. */
export interface SourcePlan {
  readonly base: ByteString;
  readonly roots: readonly ByteString[];
  /** The names in `base`; undefined if `base` itself is a root. */
  readonly names: ReadonlyMap<ByteString, PlannedName> | undefined;
  /** Roots that are symlinks, with their targets. */
  readonly followed: ReadonlyMap<ByteString, ByteString>;
}

/** Resolves the sources. Reports each missing source as a problem; throws SourceError if no source is left. */
export async function planSources(
  sources: readonly PathInput[],
  cwd: PathInput,
  onProblem: (problem: SourceProblem) => void,
): Promise<SourcePlan> {
  if (sources.length === 0) {
    throw new UsageError('no paths given', {
      advice: { code: 'name-sources' },
    });
  }
  const { roots, followed, missing, failures } = await resolveRoots(sources, cwd);
  if (roots.length === 0) {
    const first = failures[0]?.message ?? `${missing[0] ?? ''} ${whyMissing(missing[0] ?? '')}`;
    throw new SourceError(`nothing to back up: ${first}`);
  }
  for (const word of missing) {
    onProblem({
      path: byteStringFromText(word),
      during: 'missing',
      message: 'does not exist, and no file matches it as a pattern',
    });
  }
  for (const failure of failures) {
    onProblem({ path: failure.path ?? ('' as ByteString), during: 'stat', message: failure.message });
  }
  const base = commonParent(roots);
  return { base, roots, followed, names: roots.includes(base) ? undefined : namesUnder(base, roots) };
}

function whyMissing(word: string): string {
  return mayBePattern(byteStringFromText(word)) ? 'does not exist, and no file matches it' : 'does not exist';
}

function namesUnder(base: ByteString, roots: readonly ByteString[]): Map<ByteString, PlannedName> {
  const top = new Map<ByteString, PlannedName>();
  for (const root of roots) {
    const parts = root.slice(base === '/' ? 1 : base.length + 1).split('/') as ByteString[];
    let names = top;
    for (const [index, part] of parts.entries()) {
      const planned = names.get(part) ?? { isRoot: index === parts.length - 1, children: new Map() };
      names.set(part, planned);
      names = planned.children;
    }
  }
  return new Map([...top].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
