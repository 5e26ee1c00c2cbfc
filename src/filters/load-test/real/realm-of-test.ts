import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LdmError } from '../../../core/errors.ts';
import { ID_BYTES } from '../../../core/ldm/positions.ts';
import { fillRandomIds, randomWords } from '../../../core/ldm/random-ids.ts';
import { openPlace } from '../../../core/repository/open-place.ts';
import type { OperationContext } from '../../../core/session/context.ts';
import { withRepository } from '../../../core/session/session.ts';
import { createRealm } from '../../../realm/verbs/realm/create.ts';
import { joinRealm } from '../../../realm/verbs/realm/join.ts';
import type { Processes, StartedProcess } from './processes.ts';

/** Small chunks, so that many of them take little space. A question does not depend on their size. */
const CHUNK_BYTES = 512;
/** The member of the clients. */
export const CLIENTS = 'clients';

/** Command lines of the program, which this room cannot do itself. */
export interface ProgramCommands {
  /** Creates a repository that is not encrypted, with the keys of a realm. */
  readonly init: (place: string, realmKeyFile: string) => readonly string[];
  readonly backup: (place: string, source: string) => readonly string[];
  /** Serves a repository. Prints a JSON message when it listens. */
  readonly agent: (place: string) => readonly string[];
}

interface RealmOfTestOptions {
  readonly commands: ProgramCommands;
  readonly directory: string;
  readonly domainCount: number;
  /** Chunks of files in each domain; the directories need one more. */
  readonly idsPerDomain: number;
  readonly seed: number;
  /** Places for `joinRealm`. */
  readonly coordinator: string;
  readonly cache: string | undefined;
}

/**
 * A realm of repositories that are not encrypted, each with a backup of one file of random chunks, and an agent on a Unix
 * socket. The program itself is started for repositories, backups and agents. One more member, which
 * has nothing, is for the clients.
 */
export class RealmOfTest {
  readonly agents: StartedProcess[] = [];
  readonly #processes: Processes;
  readonly #context: Omit<OperationContext, 'backend'>;
  readonly #options: RealmOfTestOptions;

  /** `context`: to open the repositories in this process. */
  constructor(processes: Processes, context: Omit<OperationContext, 'backend'>, options: RealmOfTestOptions) {
    this.#processes = processes;
    this.#context = context;
    this.#options = options;
  }

  /** The context of a domain, or of the member `CLIENTS`. */
  async contextOf(name: string): Promise<OperationContext> {
    return { ...this.#context, backend: await openPlace(this.#placeOf(name), this.#context.openPlace) };
  }

  /** Names of the domains, in the order in which they are asked. */
  get names(): string[] {
    return Array.from({ length: this.#options.domainCount }, (_, index) => `domain${index + 1}`);
  }

  /** @throws LdmError if a command of the program fails */
  async create(): Promise<void> {
    const chunker = { kind: 'fixed', sizeBytes: CHUNK_BYTES } as const;
    await createRealm({ file: this.#keyFile, isEncrypted: false, chunker });
    for (const [index, name] of this.names.entries()) await this.#addDomain(name, index);
    await this.#addMember(CLIENTS);
    for (const name of this.names) this.agents.push(this.#startAgent(name));
    for (const agent of this.agents)
      await this.#processes.until(agent, async () => agent.said().includes('"listening"'));
  }

  /** The ids of all chunks that the domains have, 20 bytes each, by domain. */
  async chunkIds(): Promise<Uint8Array[][]> {
    const all: Uint8Array[][] = [];
    for (const name of this.names) {
      const ids = await withRepository(await this.contextOf(name), 'read', async (repository) => {
        const { filter } = (await repository.openState()).state;
        const found: Uint8Array[] = [];
        filter.forEachEntry((entry) => {
          if (filter.refs(entry) === 0) return;
          const id = new Uint8Array(ID_BYTES);
          filter.copyId(entry, id, 0);
          found.push(id);
        });
        return found;
      });
      if (ids.length === 0) throw new LdmError(`the domain ${name} has no chunks`);
      all.push(ids);
    }
    return all;
  }

  get #keyFile(): string {
    return join(this.#options.directory, 'load-test.realm');
  }

  #placeOf(name: string): string {
    return join(this.#options.directory, name);
  }

  async #addDomain(name: string, index: number): Promise<void> {
    const { idsPerDomain, seed, directory } = this.#options;
    await this.#addMember(name);
    const source = join(directory, `file-of-${name}`);
    const bytes = new Uint8Array(idsPerDomain * CHUNK_BYTES);
    fillRandomIds(bytes, randomWords(seed + index));
    writeFileSync(source, bytes);
    await this.#processes.run(this.#options.commands.backup(this.#placeOf(name), source));
  }

  async #addMember(name: string): Promise<void> {
    const { coordinator, cache, commands } = this.#options;
    await this.#processes.run(commands.init(this.#placeOf(name), this.#keyFile));
    await joinRealm(await this.contextOf(name), { coordinator, name, cache });
  }

  #startAgent(name: string): StartedProcess {
    return this.#processes.start(this.#options.commands.agent(this.#placeOf(name)));
  }
}
