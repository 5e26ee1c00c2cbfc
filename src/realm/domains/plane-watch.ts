import { LdmError } from '../../core/errors.ts';
import type { HeldPlane } from '../planes/held-planes.ts';
import type { Domains } from './domains.ts';
import type { OpenRealm } from './realm.ts';

interface PlaneWatchOptions {
  /** Called after any record may have changed. */
  readonly onChange: () => Promise<void>;
  /** Called when something fails that is tried again after the next change. */
  readonly onTrouble: ((reason: string) => void) | undefined;
}

/**
 * Keeps the planes of the other domains up to date. A change of any record means: read all of them again. Changes that
 * arrive meanwhile cause one more reading.
 */
export class PlaneWatch {
  readonly #realm: OpenRealm;
  readonly #options: PlaneWatchOptions;
  readonly #domains: Domains;
  #endWatch: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #isStale = false;
  #isStopped = false;

  /** `domains`: closed by `stop`. */
  constructor(domains: Domains, realm: OpenRealm, options: PlaneWatchOptions) {
    this.#domains = domains;
    this.#realm = realm;
    this.#options = options;
  }

  /** Returns what the planes say about ids of 20 bytes, one after another in `ids`. */
  ask(ids: Uint8Array): readonly HeldPlane[] {
    return this.#domains.askPlanes(ids);
  }

  async start(): Promise<void> {
    this.#endWatch = await this.#realm.coordinator.watch(() => this.#update());
    this.#update();
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#endWatch?.();
    await this.#running;
    await this.#domains.close();
  }

  #update(): void {
    this.#isStale = true;
    this.#running ??= this.#readAll().finally(() => (this.#running = undefined));
  }

  async #readAll(): Promise<void> {
    while (this.#isStale && !this.#isStopped) {
      this.#isStale = false;
      try {
        await this.#domains.readRecords();
        await this.#domains.loadPlanes();
        await this.#options.onChange();
      } catch (error) {
        if (!(error instanceof LdmError)) throw error;
        this.#options.onTrouble?.(error.message);
      }
    }
  }
}
