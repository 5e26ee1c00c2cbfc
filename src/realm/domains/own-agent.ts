import { CancelledError, LdmError } from '../../core/errors.ts';
import { AgentClient } from '../agents/agent-client.ts';
import type { HeldPlane } from '../planes/held-planes.ts';
import { announcedEndpoint, isOnOtherMachine } from './open-peer.ts';
import type { OpenRealm } from './realm.ts';

/** It answers from memory. What takes longer than this is not faster than to read the planes. */
const DEADLINE_MS = 1500;

/**
 * The agent of this domain, if one runs: it has the planes of the other domains in memory, so a command need not read
 * them. It is not trusted: what it says counts only for the states that the command has read itself.
 */
export class OwnAgent {
  readonly #realm: OpenRealm;
  #client: Promise<AgentClient | undefined> | undefined;

  constructor(realm: OpenRealm) {
    this.#realm = realm;
  }

  /**
   * Returns what its planes say about ids of 20 bytes, at most `MAX_ASKED_IDS`. Undefined: there is no agent, or it does
   * not answer properly. After that, it is not asked again.
   */
  async askPlanes(ids: Uint8Array): Promise<readonly HeldPlane[] | undefined> {
    try {
      const client = await (this.#client ??= this.#open());
      return await client?.askPlanes(ids);
    } catch (error) {
      if (!(error instanceof LdmError) || error instanceof CancelledError) throw error;
      this.#client = Promise.resolve(undefined);
      return undefined;
    }
  }

  async #open(): Promise<AgentClient | undefined> {
    const endpoint = await announcedEndpoint(this.#realm, this.#realm.domainId);
    if (endpoint === undefined || isOnOtherMachine(endpoint)) return undefined;
    return new AgentClient(endpoint, {
      token: this.#realm.keys.agentTokenOf(this.#realm.domainId),
      deadlineMs: DEADLINE_MS,
    });
  }
}
