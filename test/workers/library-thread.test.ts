import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';

const LIBRARY = join(import.meta.dirname, '..', '..', 'dist', 'index.js');

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
    { id: 1, slot: undefined, task: { name: 'unpack', codec: 'raw', payload: new Uint8Array(1), rawBytes: 1 } },
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
