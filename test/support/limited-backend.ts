import { backendFailure } from '../../src/core/backend/backend-failure.ts';
import type { FileWriter } from '../../src/core/backend/publication.ts';
import { FaultyBackend } from './faulty-backend.ts';
import type { MemoryBackend } from './memory-backend.ts';

/** A disk with room for so many bytes: an append that does not fit writes what does, and fails with ENOSPC. */
export class LimitedBackend extends FaultyBackend {
  readonly #memory: MemoryBackend;
  readonly #limitBytes: number;

  constructor(memory: MemoryBackend, limitBytes: number) {
    super(memory);
    this.#memory = memory;
    this.#limitBytes = limitBytes;
  }

  override async create(name: string): Promise<FileWriter> {
    const writer = await super.create(name);
    return {
      append: async (bytes) => {
        const freeBytes = Math.max(0, this.#limitBytes - usedBytesOf(this.#memory));
        await writer.append(bytes.subarray(0, freeBytes));
        if (bytes.length <= freeBytes) return;
        this.fired = true;
        throw backendFailure({ location: this.location, operation: 'append', name, errno: 'ENOSPC' });
      },
      sync: async () => writer.sync(),
      close: async () => writer.close(),
    };
  }
}

export function usedBytesOf(backend: MemoryBackend): number {
  return backend.names().reduce((total, name) => total + backend.view(name).length, 0);
}
