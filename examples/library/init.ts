// init.ts
import { initRepository } from 'ldm-backup';
import { context } from './context.js';

const created = await initRepository(context, { encryption: 'always' });
console.log(`encrypted: ${created.isEncrypted}, ids: ${created.chunkHash}`);
