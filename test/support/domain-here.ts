import { hostname } from 'node:os';
import { join } from 'node:path';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { withRepository } from '../../src/core/session/session.ts';
import { connectRealm, readRealm } from '../../src/realm/domains/realm.ts';
import type { OpenRealm } from '../../src/realm/domains/realm.ts';
import { AgentServer } from '../../src/realm/agents/agent-server.ts';
import type { PlaneState } from '../../src/realm/planes/plane-state.ts';
import { DOMAIN, PublishingDomain } from '../realm/planes/plane-support.ts';
import { fakeService } from './fake-agent-service.ts';

/** So large that a delta is always cheaper than a base. */
const POSITIONS = 2_000_003;

/**
 * A domain of the test itself. It has no repository, but an agent, which knows what the others read of its plane: so a
 * test learns what the agent of another domain knows, and changes take no time.
 */
export class DomainHere {
  /** The plane files that were read, in order. */
  readonly reads: string[] = [];
  /** How often their names were listed. */
  listCount = 0;
  readonly #domain = new PublishingDomain(1, POSITIONS);
  readonly #realm: OpenRealm;
  readonly #server: AgentServer;

  private constructor(realm: OpenRealm, directory: string) {
    this.#realm = realm;
    const planes = {
      names: async (): Promise<string[]> => {
        this.listCount += 1;
        return await this.#domain.files.names();
      },
      read: async (name: string): Promise<Uint8Array | undefined> => {
        this.reads.push(name);
        return await this.#domain.files.read(name);
      },
    };
    const ask = async (ids: Uint8Array): Promise<undefined[]> => Array.from({ length: ids.length / 20 });
    this.#server = new AgentServer(fakeService({ planes, ask }), {
      token: realm.keys.agentTokenOf(DOMAIN),
      place: { kind: 'socket', path: join(directory, 'here.sock') },
      host: hostname(),
    });
  }

  /** Joins the realm of a plain repository, and publishes. */
  static async join(repository: string, directory: string): Promise<DomainHere> {
    const context = { backend: new LocalBackend(repository) };
    const joined = await withRepository(context, 'read', async (opened) => readRealm(opened));
    const realm = await connectRealm({ ...joined, domainId: DOMAIN });
    const here = new DomainHere(realm, directory);
    await realm.records.announce(DOMAIN, await here.#server.listen());
    const member = { name: 'here', host: hostname(), place: join(directory, 'here') };
    if (!(await realm.records.writeMember(DOMAIN, member, undefined))) throw new Error('it has joined before');
    await here.publish(1);
    return here;
  }

  /** Makes so many changes, and then tells of each as fast as it can. Returns the name of the newest file. */
  async publish(changes: number): Promise<string> {
    const states: PlaneState[] = [];
    let newest = '';
    for (let change = 0; change < changes; change += 1) {
      this.#domain.add(1);
      // The files of older states stay.
      const { file, state } = (await this.#domain.publish('state'))!;
      states.push(state);
      newest = file!.name;
    }
    const { records } = this.#realm;
    for (const state of states) {
      const version = (await records.stateToReplace(DOMAIN))?.version;
      if (!(await records.writeState(DOMAIN, state, version))) throw new Error('somebody else has published');
    }
    return newest;
  }

  async close(): Promise<void> {
    await this.#server.close();
    await this.#realm.coordinator.close();
  }
}
