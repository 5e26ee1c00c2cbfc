import { LdmError } from '../../core/errors.ts';
import { RangeTree } from '../../filters/family/range-tree.ts';
import { pathsFrom } from '../../filters/family/range-box.ts';
import type { RangeBox, RangeSpan } from '../../filters/family/range-box.ts';
import type { PlaneFiles } from '../agents/peer.ts';
import { rangesName } from '../planes/range-names.ts';
import { byteStringOf, bytesOf } from '../../core/util/byte-string.ts';
import type { PathInput } from '../../core/util/byte-string.ts';
import type { Domains } from './domains.ts';
import type { Domain } from './open-peer.ts';

/** Files in all of these ranges. Both ends belong to a range; a dimension without a range is not restricted. */
export interface FileRange extends Pick<RangeBox, 'timeMs' | 'sizeBytes'> {
  /** The beginning of their paths. */
  readonly pathPrefix?: PathInput | undefined;
}

const BYTES_MAX = 1024 ** 3;

/**
 * Whether a domain has files in a range: `none`, by what it has published about exactly the snapshots that it says it has;
 * `unknown`: it has published nothing about them.
 */
type RangeVerdict = 'maybe' | 'none' | 'unknown';

export interface DomainRange {
  readonly domain: Domain;
  readonly verdict: RangeVerdict;
  /** How many boxes the domain has published. Undefined: none about its present snapshots. */
  readonly boxes: number | undefined;
  /** With `maybe`: the boxes that overlap the range, and what is around their files. */
  readonly span: RangeSpan | undefined;
}

/** Opens what a member has sealed. */
interface Opener {
  open(sealed: Uint8Array, binding: Uint8Array): Uint8Array | undefined;
}

/** What the domains have published about a range of their files. */
export class Ranges {
  readonly #box: RangeBox;
  readonly #trees: ReadonlyMap<Domain, RangeTree | undefined>;

  private constructor(box: RangeBox, trees: ReadonlyMap<Domain, RangeTree | undefined>) {
    this.#box = box;
    this.#trees = trees;
  }

  static async load(domains: Pick<Domains, 'all' | 'filesOf'>, keys: Opener, range: FileRange): Promise<Ranges> {
    const load = async (domain: Domain): Promise<[Domain, RangeTree | undefined]> => [
      domain,
      await loadTree(domain, domains.filesOf(domain.id), keys),
    ];
    const { pathPrefix, ...others } = range;
    const path = pathPrefix === undefined ? undefined : pathsFrom(bytesOf(byteStringOf(pathPrefix)));
    return new Ranges({ ...others, path }, new Map(await Promise.all(domains.all.map(load))));
  }

  get domains(): DomainRange[] {
    return [...this.#trees].map(([domain, tree]) => {
      const span = tree?.spanIn(this.#box);
      const verdict = tree === undefined ? 'unknown' : span === undefined ? 'none' : 'maybe';
      return { domain, verdict, boxes: tree?.leafCount, span };
    });
  }

  /** Whether no file of the domain in the range has this chunk. */
  readonly isLeftOut = (domain: Domain, id: Uint8Array): boolean =>
    this.#trees.get(domain)?.mayHold(this.#box, id) === false;
}

/** Undefined: none for the snapshots of its state, or it cannot be read. */
async function loadTree({ id, published }: Domain, files: PlaneFiles, keys: Opener): Promise<RangeTree | undefined> {
  if (published?.snapshots === undefined) return undefined;
  const name = rangesName(published.snapshots);
  try {
    const sealed = await files.read(name, BYTES_MAX);
    const bytes = sealed && keys.open(sealed, Buffer.from(`${id}/${name}`));
    return bytes && RangeTree.load(bytes);
  } catch (error) {
    if (error instanceof LdmError) return undefined;
    throw error;
  }
}
