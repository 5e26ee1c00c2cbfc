import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';

import { memoryDirectory } from '../../support/temp-directory.ts';

const LIBRARY = join(import.meta.dirname, '../../../dist/index.js');

/** A thread of another program, which uses ldm as a library and has messages of its own. */
const HOST = `
  const { parentPort } = require('node:worker_threads');
  import(${JSON.stringify(LIBRARY)}).then((ldm) => {
    parentPort.on('message', (message) => parentPort.postMessage({ heard: message }));
    parentPort.postMessage({ ready: typeof ldm.backup });
  });`;

test('what ldm runs in its threads does not run in those of who uses it', async () => {
  const host = new Worker(HOST, { eval: true });
  onTestFinished(() => void host.terminate());
  const failed = new Promise<never>((_, reject) => host.once('error', reject));
  const messages: unknown[] = [];
  const sent = [
    'hello',
    { id: 1, slot: undefined, task: { name: 'decompress', codec: 'raw', payload: new Uint8Array(1), rawBytes: 1 } },
  ];
  const heard = new Promise<void>((resolve) => {
    host.on('message', (message) => {
      if (messages.push(message) === 1) for (const each of sent) host.postMessage(each);
      // What a thread of ldm does with such an order, it does before it hears of the next message.
      if (messages.length === 1 + sent.length) resolve();
    });
  });
  await Promise.race([heard, failed]);
  expect(messages).toEqual([{ ready: 'function' }, ...sent.map((message) => ({ heard: message }))]);
});

/** Backs enough up to start threads. */
const PROGRAM = `
  import { readdirSync } from 'node:fs';
  const { LocalBackend, backup, initRepository } = await import(process.argv[2]);
  const context = { backend: new LocalBackend(process.argv[3]) };
  await initRepository(context);
  const before = readdirSync('/proc/self/task').length;
  let during = 0;
  const onEntry = () => { during = Math.max(during, readdirSync('/proc/self/task').length); };
  await backup(context, { sources: [process.argv[4]], cwd: '/', onEntry });
  console.log(during > before ? 'with threads' : 'without');`;

test.runIf(process.platform === 'linux')('a program that uses ldm as a library ends by itself', () => {
  const directory = memoryDirectory();
  const source = join(directory, 'source');
  writeFileSync(source, 'a line that is compressed\n'.repeat(500_000));
  const program = join(directory, 'program.mjs');
  writeFileSync(program, PROGRAM);
  const words = [program, LIBRARY, join(directory, 'repository'), source];
  const { stdout, stderr, status, signal } = spawnSync(process.execPath, words, { encoding: 'utf8', timeout: 300_000 });
  expect({ stdout, stderr, status, signal }).toEqual({ stdout: 'with threads\n', stderr: '', status: 0, signal: null });
  expect(readdirSync(join(directory, 'repository', 'snapshots'))).toHaveLength(1);
});
