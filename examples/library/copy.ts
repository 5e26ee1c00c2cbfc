// copy.ts
import { LocalBackend, check, copySnapshots, initRepository } from 'ldm-backup';
import type { PasswordSource } from 'ldm-backup';
import { context, password } from './context.js';

let reads = 0;
const counted: PasswordSource = {
  ...password,
  read: async () => {
    reads += 1;
    return await password.read();
  },
};
const first = { ...context, password: counted };
const second = { backend: new LocalBackend('second'), password: counted };

await initRepository({ ...first, ...second }, { copyParametersFrom: first });
const { snapshots } = await copySnapshots(first, { destination: second });
await check({ ...first, ...second });
console.log(`${snapshots.length} snapshot copied`);
console.log(`the password was read ${reads} times`);
