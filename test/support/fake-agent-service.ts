import type { AgentService, Answer, KnownChunk, PeerStatus } from '../../src/realm/agents/peer.ts';

export const FAKE_DOMAIN: string = 'd0'.repeat(32);
export const FAKE_PLANE = 'planes/000000000001/base-000000000001';
export const FAKE_STATUS: PeerStatus = { domainId: FAKE_DOMAIN, liveCount: 3 };

/** The answer about a chunk whose id begins with this byte. */
export function fakeAnswer(first: number): KnownChunk {
  const state = (['live', 'dead', 'condemned'] as const)[first % 3]!;
  return { packId: 'ab'.repeat(32), blockOffset: 32, offsetInBlock: first, lengthBytes: 100, refs: first % 3, state };
}

/** A domain that has all chunks whose ids begin with an even byte. Each chunk has the bytes of its id. */
export function fakeService(overrides: Partial<AgentService> = {}): AgentService {
  return {
    ask: async (ids) => {
      const answers: Answer[] = [];
      for (let at = 0; at < ids.length; at += 20) answers.push(ids[at]! % 2 === 0 ? fakeAnswer(ids[at]!) : undefined);
      return answers;
    },
    readChunk: async (id) => (id[0]! % 2 === 0 ? Uint8Array.from(id) : undefined),
    planes: {
      names: async () => [FAKE_PLANE],
      read: async (name) => (name === FAKE_PLANE ? Uint8Array.of(1, 2, 3) : undefined),
    },
    holds: {
      place: async (_hold, ids) =>
        Uint8Array.from({ length: ids.length / 20 }, (_, index) => (ids[20 * index]! % 2 === 0 ? 1 : 0)),
      existing: async (_holderId, holdIds) => holdIds.slice(1),
      release: async () => undefined,
    },
    status: async () => FAKE_STATUS,
    ...overrides,
  };
}

/** A gate that holds calls back until it is opened. */
export class Gate {
  arrivedCount = 0;
  readonly #opened: Promise<void>;
  #open: () => void = () => undefined;

  constructor() {
    this.#opened = new Promise((resolve) => (this.#open = resolve));
  }

  async pass(): Promise<void> {
    this.arrivedCount++;
    await this.#opened;
  }

  open(): void {
    this.#open();
  }
}
