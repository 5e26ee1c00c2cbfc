// context.ts
import { LocalBackend, NoPasswordError, createProgress } from 'ldm-backup';
import type { OperationContext, PasswordSource } from 'ldm-backup';

async function readPassword(): Promise<Uint8Array> {
  const text = process.env['LDM_PASSWORD'];
  if (text === undefined) throw new NoPasswordError('LDM_PASSWORD is not set');
  return new TextEncoder().encode(text);
}

export const password: PasswordSource = { isConfigured: true, read: readPassword, readNew: readPassword };

export const controller = new AbortController();

export const context: OperationContext = {
  backend: new LocalBackend('repository'),
  password,
  signal: controller.signal,
  progress: createProgress(),
  onNotice: (notice) => {
    if (notice.kind === 'source-problem') console.error(`not saved: ${notice.message}`);
    else console.error(`notice: ${notice.kind}`);
  },
};
