import { expect, test } from 'vitest';
import { WrongPasswordError } from '../../../src/core/errors.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import type { PasswordSource } from '../../../src/core/session/unlock.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME } from '../../../src/core/format/layout.ts';
import { openConfig } from '../../../src/core/repository/config-file.ts';
import { Unlocker } from '../../../src/core/repository/keys/unlocker.ts';
import { exportKeys, importKeys } from '../../../src/verbs/key/key-pages.ts';
import { rotateMasterKey } from '../../../src/verbs/key/key-rotation.ts';
import {
  addRepositoryKey,
  changeRepositoryPassword,
  listRepositoryKeys,
  removeRepositoryKeys,
} from '../../../src/verbs/key/keys.ts';
import { SMALL_INIT } from '../../support/crash-stage.ts';
import { changesIn } from '../../support/fault-steps.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { inSoak } from '../../support/soak.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';

function password(text: string): PasswordSource {
  const read = async (): Promise<Buffer> => Buffer.from(text);
  return { isConfigured: true, read, readNew: read };
}

function contextOf(backend: OperationContext['backend']): OperationContext {
  return { ...simulatedProcess(backend), password: password('mine') };
}

async function opens(backend: MemoryBackend, text: string): Promise<boolean> {
  const { unlock } = new Unlocker(async (use) => use(Buffer.from(text)), {});
  try {
    await openConfig(backend, unlock);
    return true;
  } catch (error) {
    if (error instanceof WrongPasswordError) return false;
    throw error;
  }
}

/** Changes of keys, and the passwords of which each leaves some valid. */
const changes = {
  passwd: async (context: OperationContext) => {
    await changeRepositoryPassword(context, { newPassword: password('new') });
    return { new: true, mine: false };
  },
  add: async (context: OperationContext) => {
    await addRepositoryKey(context, { newPassword: password('new') });
    return { new: true, mine: true };
  },
  import: async (context: OperationContext) => {
    const page = (await exportKeys(context)).lines.join('\n');
    await importKeys(context, { page, newPassword: password('new') });
    return { new: true, mine: true };
  },
  /** Everything but the key that opens the repository now. */
  remove: async (context: OperationContext) => {
    const { keys } = await listRepositoryKeys(context);
    const { unlock } = new Unlocker(async (use) => use(Buffer.from('mine')), {});
    const { keyId } = await openConfig(context.backend, unlock);
    const others = keys.filter(({ id }) => id !== keyId);
    if (others.length > 0)
      await removeRepositoryKeys(
        context,
        others.map(({ id }) => id),
      );
    return { mine: true, hers: false };
  },
};

async function makeRepository(): Promise<MemoryBackend> {
  const backend = new MemoryBackend();
  await initRepository(contextOf(backend), { ...SMALL_INIT, encryption: 'always' });
  await addRepositoryKey(contextOf(backend), { newPassword: password('hers') });
  return backend;
}

/** What a rotation leaves that dies at any step. Those that differ only in locks and temporary files count once. */
async function leftByRotations(before: MemoryBackend): Promise<MemoryBackend[]> {
  const whole = new FaultyBackend(before.copy());
  await rotateMasterKey(contextOf(whole));
  const left = new Map<string, MemoryBackend>();
  for (const failAt of changesIn(whole.operations)) {
    const backend = before.copy();
    await rotateMasterKey(contextOf(new FaultyBackend(backend, { failAt, mode: 'crash' }))).catch(() => undefined);
    const isNew = [CONFIG_NAME, CONFIG_COPY_NAME].map((name) => !backend.peek(name)!.equals(before.peek(name)!));
    const keys = backend.names().filter((name) => name.startsWith('keys/'));
    left.set(`${isNew.join()} ${keys.length}`, backend);
  }
  return [...left.values()];
}

const left = await leftByRotations(await makeRepository());

test('after a rotation that died at any step, a change of keys holds whichever copy of the configuration is lost', async () => {
  const differs = (backend: MemoryBackend): boolean =>
    !backend.peek(CONFIG_NAME)!.equals(backend.peek(CONFIG_COPY_NAME)!);
  expect(left.filter(differs)).toHaveLength(1);
  expect(left.length).toBeGreaterThan(4);
  for (const found of left) {
    const kinds = Object.keys(changes) as (keyof typeof changes)[];
    for (const kind of inSoak(kinds, differs(found) ? kinds : ['passwd' as const])) {
      const backend = found.copy();
      const expected = await changes[kind](contextOf(backend));
      expect(differs(backend), kind).toBe(false);
      for (const lost of [undefined, CONFIG_NAME, CONFIG_COPY_NAME]) {
        const rest = backend.copy();
        if (lost !== undefined) await rest.remove(lost);
        for (const [text, isValid] of Object.entries(expected))
          expect(await opens(rest, text), `${kind}, ${text} without ${lost}`).toBe(isValid);
      }
    }
  }
});

test('a change of keys that is refused leaves both copies as they are', async () => {
  const found = left.find((each) => !each.peek(CONFIG_NAME)!.equals(each.peek(CONFIG_COPY_NAME)!))!;
  const backend = found.copy();
  const before = [CONFIG_NAME, CONFIG_COPY_NAME].map((name) => backend.peek(name));
  for (const refused of [
    addRepositoryKey(contextOf(backend), { newPassword: password('mine') }),
    changeRepositoryPassword(contextOf(backend), { newPassword: password('mine') }),
  ])
    await expect(refused).rejects.toThrow('already in use');
  expect([CONFIG_NAME, CONFIG_COPY_NAME].map((name) => backend.peek(name))).toEqual(before);
});
