import { expect } from 'vitest';

import { createPasswordSource, findPasswordOrigin } from '../../../src/console/password/password-source.ts';
import type { PasswordOptions } from '../../../src/console/password/password-source.ts';

const NODE = `'${process.execPath}'`;

interface Asked {
  readonly options?: PasswordOptions;
  readonly environment?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
}

/** What the sources give, with the warnings. */
export async function read({ options = {}, environment = {}, signal = new AbortController().signal }: Asked): Promise<{
  readonly password: string;
  readonly warnings: readonly string[];
}> {
  const warnings: string[] = [];
  const source = createPasswordSource(
    findPasswordOrigin(options, environment),
    { current: '', new: '', advice: 'give-password' },
    {
      environment,
      signal,
      warn: (message) => void warnings.push(message),
      withoutStatus: async (work) => work(),
    },
  );
  const password = await source.read();
  expect(await source.readNew()).toEqual(password);
  expect(source.isConfigured).toBe(true);
  return { password: Buffer.from(password).toString(), warnings };
}

/** A command that writes this on stdout. */
export function printing(text: string): string {
  return `${NODE} -e 'process.stdout.write(${JSON.stringify(text)})'`;
}
