import { chmodSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';

import { prepareSocket } from '../../../src/realm/agents/agent-place.ts';
import { socketPath, startAgent } from './agent-support.ts';

it.each([0, 1, 3])('an agent that gives %i answers to two questions is not believed', async (count) => {
  const ask = async (): Promise<undefined[]> => Array.from({ length: count });
  const { client } = await startAgent({ kind: 'socket', path: socketPath() }, { ask });
  await expect(client.ask(Buffer.alloc(2 * 20))).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('another number of answers'),
  });
});

it.each([
  [0o755, true],
  [0o1777, true],
  [0o775, false],
  [0o757, false],
])('an agent listens only where nobody else can rename its socket (mode %o of the directory)', async (mode, isSafe) => {
  const path = socketPath();
  chmodSync(dirname(path), mode);
  if (isSafe) await prepareSocket(path);
  else await expect(prepareSocket(path)).rejects.toThrow('other users can rename files in');
});
