import { CorruptDataError } from '../../core/errors.ts';
import { JsonReader, parseJson } from '../../core/format/json-reader.ts';
import { EXPIRY_SECONDS } from '../agents/answer-cache.ts';
import type { AnswerCache } from '../agents/answer-cache.ts';
import type { PlaneFiles } from '../agents/peer.ts';
import type { PlaneState } from './plane-state.ts';

const NAMES_BYTES_MAX = 1024 * 1024;

/**
 * The plane files of a domain, kept for a while for all processes that use the cache, so that a domain is not asked for
 * them by each. The list of names is kept for one state: the files that lead to it exist at least until the state record
 * names another one. What is read must lead to the checksum of the state, so nothing that is wrong or old is used.
 */
export class CachedPlanes implements PlaneFiles {
  /** Whether something came from the cache since `follow`. */
  wasUsed = false;
  readonly #domainId: string;
  readonly #files: PlaneFiles;
  readonly #openCache: () => Promise<AnswerCache | undefined>;
  #state: PlaneState | undefined;
  #isBypassed = false;

  constructor(domainId: string, files: PlaneFiles, openCache: () => Promise<AnswerCache | undefined>) {
    this.#domainId = domainId;
    this.#files = files;
    this.#openCache = openCache;
  }

  /** Call before the files of a state are read. */
  follow(state: PlaneState, isBypassed = false): void {
    this.#state = state;
    this.#isBypassed = isBypassed;
    this.wasUsed = false;
  }

  async names(): Promise<readonly string[]> {
    const { generation = 0, sequence = 0, checksum = '' } = this.#state ?? {};
    const key = `names:${this.#domainId}:${generation}:${sequence}:${checksum}`;
    const decode = (bytes: Uint8Array): readonly string[] => {
      const names = parseJson(bytes, { maxBytes: NAMES_BYTES_MAX, what: 'cached names' });
      return new JsonReader({ names }, 'cached names').strings('names');
    };
    const names = await this.#throughCache(key, async () => Buffer.from(JSON.stringify(await this.#files.names())));
    return decode(names!);
  }

  async read(name: string, limitBytes: number): Promise<Uint8Array | undefined> {
    const bytes = await this.#throughCache(`plane:${this.#domainId}:${name}`, async () =>
      this.#files.read(name, limitBytes),
    );
    if (bytes !== undefined && bytes.length > limitBytes) throw new CorruptDataError(`${name} is too long`);
    return bytes;
  }

  async #throughCache(key: string, load: () => Promise<Uint8Array | undefined>): Promise<Uint8Array | undefined> {
    const cache = await this.#openCache();
    const cached = this.#isBypassed ? undefined : await cache?.get(key);
    if (cached !== undefined) {
      this.wasUsed = true;
      return cached;
    }
    const bytes = await load();
    if (bytes !== undefined) await cache?.set(key, bytes, EXPIRY_SECONDS.plane);
    return bytes;
  }
}
