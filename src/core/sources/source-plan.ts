import { SourceError, UsageError } from '../errors.ts';
import { commonParent, resolveRoots } from '../files/source/source-roots.ts';
import type { ListedSources, SourceRoots } from '../files/source/source-roots.ts';
import type { ByteString, PathInput } from '../util/byte-string.ts';
import { textOf } from '../util/byte-string.ts';
import type { SourceProblem } from '../session/notices.ts';

/** A name on the path to what the user named. */
export interface PlannedName {
  /** Whether the user named it, so that it is saved whatever is excluded. */
  isRoot: boolean;
  readonly children: Map<ByteString, PlannedName>;
}

/** The sources of a backup, arranged like its root tree. */
export interface SourcePlan {
  readonly base: ByteString;
  readonly roots: readonly ByteString[];
  /** The names in `base` on the paths to what the user named. */
  readonly names: ReadonlyMap<ByteString, PlannedName>;
  /** Whether `base` itself is a root. If not, only `names` are saved in it. */
  readonly isBaseRoot: boolean;
  /** Roots that are symlinks, with their targets. */
  readonly followed: ReadonlyMap<ByteString, ByteString>;
}

/** Resolves the sources. Reports each missing source as a problem; throws SourceError if no source is left. */
export async function planSources(
  sources: readonly PathInput[],
  cwd: PathInput,
  onProblem: (problem: SourceProblem) => void,
  listed: ListedSources = {},
): Promise<SourcePlan> {
  if (sources.length + (listed.patterns?.length ?? 0) + (listed.paths?.length ?? 0) === 0) {
    throw new UsageError('no paths given', {
      advice: { code: 'name-sources' },
    });
  }
  const { roots, inner, followed, missing, failures } = await resolveRoots(sources, cwd, listed);
  if (roots.length === 0) {
    const [first] = missing;
    const message = failures[0]?.message ?? (first === undefined ? '' : `${textOf(first.name)} ${whyMissing(first)}`);
    throw new SourceError(`nothing to back up: ${message}`, { path: failures[0]?.path ?? first?.name });
  }
  for (const source of missing) {
    onProblem({ path: source.name, during: 'missing', message: whyMissing(source) });
  }
  for (const failure of failures) {
    onProblem({ path: failure.path ?? ('' as ByteString), during: 'stat', message: failure.message });
  }
  const base = commonParent(roots);
  return { base, roots, followed, names: namesUnder(base, [...roots, ...inner]), isBaseRoot: roots.includes(base) };
}

function whyMissing({ isPattern }: SourceRoots['missing'][number]): string {
  return isPattern ? 'does not exist, and no file matches it' : 'does not exist';
}

/** Arranges paths below a directory by their names. */
export function namesUnder(base: ByteString, paths: readonly ByteString[]): Map<ByteString, PlannedName> {
  const top = new Map<ByteString, PlannedName>();
  for (const path of paths) {
    if (path === base) continue;
    const parts = path.slice(base === '/' ? 1 : base.length + 1).split('/') as ByteString[];
    let names = top;
    for (const [index, part] of parts.entries()) {
      const planned = names.get(part) ?? { isRoot: false, children: new Map() };
      if (index === parts.length - 1) planned.isRoot = true;
      names.set(part, planned);
      names = planned.children;
    }
  }
  return new Map([...top].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
