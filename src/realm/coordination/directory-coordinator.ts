import { MAX_RECORD_BYTES } from './coordinator.ts';
import type { Coordinator, RecordKind, SharedPlanes, VersionedRecord } from './coordinator.ts';
import { parsePlaneFileName } from '../planes/plane-names.ts';
import { isRangesName } from '../planes/range-names.ts';
import { SharedFiles, unfinishedName } from './shared-files.ts';

const KINDS: readonly RecordKind[] = ['members', 'live', 'state'];
/** `<domain id>.<version>` */
const RECORD_NAME = /^([0-9a-f]{64})\.([1-9]\d{0,14})$/;
const PLANES = 'planes/';
const POLL_MS = 1000;

/**
 * A coordinator without a server: a directory that all members can reach. It is polled.
 *
 * Each version of a record is a file of its own, `<kind>/<domain id>.<version>`, and the highest version counts. A file is
 * created only if there is none of its name, so of several writers of a version one succeeds. No clock matters.
 *
 * A live record stays when its process is killed: who wants to know asks the agent.
 */
export class DirectoryCoordinator implements Coordinator {
  readonly location: string;
  readonly planes: SharedPlanes;
  readonly #files: SharedFiles;
  readonly #pollMs: number;
  #announced: { readonly domainId: string; readonly version: number } | undefined;
  readonly #timers = new Set<NodeJS.Timeout>();

  /** `files`: for tests. */
  constructor(directory: string, options: { readonly pollMs?: number; readonly files?: SharedFiles } = {}) {
    const { pollMs = POLL_MS, files = new SharedFiles(directory) } = options;
    this.location = directory;
    this.#files = files;
    this.#pollMs = pollMs;
    this.planes = sharedPlanes(this.#files);
  }

  async list(kind: RecordKind): Promise<string[]> {
    return [...this.#versions(kind).keys()].toSorted();
  }

  async read(kind: RecordKind, domainId: string): Promise<VersionedRecord | undefined> {
    // A file that is gone when it is read was replaced by one with a higher version, or removed.
    for (;;) {
      const version = this.#versions(kind).get(domainId)?.at(-1);
      if (version === undefined) return undefined;
      const bytes = this.#files.read(nameOf(kind, domainId, version), MAX_RECORD_BYTES);
      if (bytes !== undefined) return { bytes, version };
    }
  }

  async write(
    kind: RecordKind,
    domainId: string,
    bytes: Uint8Array,
    version: number | undefined,
  ): Promise<number | undefined> {
    const known = this.#versions(kind).get(domainId) ?? [];
    if (known.at(-1) !== version) return undefined;
    const next = (version ?? 0) + 1;
    if (!this.#files.writeNew(nameOf(kind, domainId, next), bytes)) return undefined;
    // This process may have been suspended before the file appeared, and others may have written later versions and
    // removed this one.
    const newest = this.#versions(kind).get(domainId)?.at(-1);
    if (newest !== next) {
      this.#files.remove(nameOf(kind, domainId, next));
      return undefined;
    }
    for (const old of known) this.#files.remove(nameOf(kind, domainId, old));
    return next;
  }

  async remove(kind: RecordKind, domainId: string): Promise<void> {
    // The newest last: an older one must not come back.
    for (const version of this.#versions(kind).get(domainId) ?? []) {
      this.#files.remove(nameOf(kind, domainId, version));
    }
  }

  async announce(domainId: string, bytes: Uint8Array): Promise<void> {
    for (;;) {
      const version = await this.write('live', domainId, bytes, this.#versions('live').get(domainId)?.at(-1));
      if (version === undefined) continue;
      this.#announced = { domainId, version };
      return;
    }
  }

  async watch(onChange: () => void): Promise<() => void> {
    let seen = this.#fingerprint();
    const timer = setInterval(() => {
      const now = this.#fingerprint();
      if (now === seen) return;
      seen = now;
      onChange();
    }, this.#pollMs);
    timer.unref();
    this.#timers.add(timer);
    return () => {
      clearInterval(timer);
      this.#timers.delete(timer);
    };
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    if (this.#announced === undefined) return;
    // Another agent of the same domain may have taken over.
    const { domainId, version } = this.#announced;
    this.#announced = undefined;
    if (this.#versions('live').get(domainId)?.at(-1) === version) await this.remove('live', domainId);
  }

  /** The versions of each record, in ascending order. */
  #versions(kind: RecordKind): Map<string, number[]> {
    const versions = new Map<string, number[]>();
    for (const name of this.#files.names(kind)) {
      const [, domainId, digits] = RECORD_NAME.exec(name) ?? [];
      if (domainId === undefined) continue;
      versions.set(
        domainId,
        [...(versions.get(domainId) ?? []), Number(digits)].toSorted((a, b) => a - b),
      );
    }
    return versions;
  }

  /** Changes with every record. While the directory cannot be read, it is empty, so that its return is a change. */
  #fingerprint(): string {
    try {
      return KINDS.map((kind) => this.#files.names(kind).toSorted().join(' ')).join('\n');
    } catch {
      return '';
    }
  }
}

function nameOf(kind: RecordKind, domainId: string, version: number): string {
  return `${kind}/${domainId}.${version}`;
}

/** `planes/<generation>/base-...` of a domain is `planes/<domain id>/<generation>/base-...` here. */
function sharedPlanes(files: SharedFiles): SharedPlanes {
  const within = (domainId: string, name: string): string => name.replace(PLANES, `${PLANES}${domainId}/`);
  const all = (domainId: string): string[] => {
    const found = files.names(within(domainId, PLANES)).map((generation) => `${PLANES}${generation}`);
    return found.flatMap((each) => files.names(within(domainId, each)).map((name) => `${each}/${name}`));
  };
  return {
    names: async (domainId) =>
      all(domainId).filter((name) => parsePlaneFileName(name) !== undefined || isRangesName(name)),
    unfinished: async (domainId) => all(domainId).flatMap((name) => unfinishedName(name) ?? []),
    read: async (domainId, name, limitBytes) => files.read(within(domainId, name), limitBytes),
    writeNew: async (domainId, name, bytes) => files.writeNew(within(domainId, name), bytes),
    remove: async (domainId, name) => files.remove(within(domainId, name)),
  };
}
