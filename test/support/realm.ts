import { join } from 'node:path';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import type { InitOptions } from '../../src/core/creating/init-options.ts';
import type { Notice } from '../../src/core/session/notices.ts';
import { createRealm } from '../../src/realm/verbs/realm/create.ts';
import type { CreateRealmOptions } from '../../src/realm/verbs/realm/create.ts';
import { memoryDirectory } from './temp-directory.ts';
import { testPassword } from './test-password.ts';
import { TINY_CHUNKS } from './test-repository.ts';

export type Kind = 'plain' | 'encrypted';
export const KINDS = ['plain', 'encrypted'] as const;
export const OPTIONS = { plain: { encryption: 'never' }, encrypted: { encryption: 'always' } } as const;

/** Every opening reads the whole filter, which grows if it has to. */
export const SMALL_CAPACITY = 256;

export function newPlace(): OperationContext & { readonly notices: Notice[] } {
  const place = join(memoryDirectory(), 'repository');
  const notices: Notice[] = [];
  const onNotice = (notice: Notice): void => void notices.push(notice);
  return { backend: new LocalBackend(place), password: testPassword(`of ${place}`), onNotice, notices };
}

export function realmFile(directory: string): string {
  return join(directory, 'work.realm');
}

export async function newRealm(
  kind: Kind,
  options: Partial<CreateRealmOptions> = {},
  directory: string = memoryDirectory(),
): Promise<string> {
  const file = realmFile(directory);
  await createRealm({ file, isEncrypted: kind === 'encrypted', chunker: TINY_CHUNKS, ...options });
  return file;
}

export async function newMember(
  kind: Kind,
  file: string,
  options: InitOptions = {},
): Promise<ReturnType<typeof newPlace>> {
  const context = newPlace();
  await initRepository(context, { capacity: SMALL_CAPACITY, ...OPTIONS[kind], realm: { file }, ...options });
  return context;
}
