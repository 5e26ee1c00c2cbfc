import { plainPlace } from '../../../support/plain-place.ts';
import { createMasterKey } from '../../../../src/core/crypto/master-key.ts';
import type { MasterKey } from '../../../../src/core/crypto/master-key.ts';
import { DurableOrder } from '../../../../src/core/repository/durable-order.ts';
import { addKey } from '../../../../src/core/repository/keys/key-changes.ts';
import type { NewKey } from '../../../../src/core/repository/keys/key-changes.ts';
import { DIRECTORIES } from '../../../../src/core/format/layout.ts';
import { MemoryBackend } from '../../../support/memory-backend.ts';

export const REPOSITORY_ID: string = '0f'.repeat(32);
/** The cheapest that is accepted. */
export const CHEAP = { memoryKib: 8192, passes: 8, lanes: 1 } as const;
const CREATED = '2026-01-02T03:04:05Z';

export interface KeyedRepository<B extends MemoryBackend> {
  readonly backend: B;
  readonly order: DurableOrder;
  readonly repositoryId: string;
  readonly epoch: number;
  readonly masterKey: MasterKey;
  readonly add: (password: string, key?: Partial<NewKey>) => Promise<string>;
}

export const NEW: Pick<NewKey, 'created' | 'kdf'> = { created: CREATED, kdf: CHEAP };

/** A place for key files. */
export function keyedRepository<B extends MemoryBackend>(backend: B): KeyedRepository<B> {
  for (const directory of DIRECTORIES) backend.pokeDirectory(directory);
  const order = new DurableOrder(plainPlace(backend));
  const masterKey = createMasterKey(1);
  return {
    backend,
    order,
    repositoryId: REPOSITORY_ID,
    epoch: 1,
    masterKey,
    add: async (password, key = {}) =>
      addKey(order, {
        repositoryId: REPOSITORY_ID,
        masterKey,
        role: 'full',
        password: Buffer.from(password),
        ...NEW,
        ...key,
      }),
  };
}
