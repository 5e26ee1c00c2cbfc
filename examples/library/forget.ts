// forget.ts
import { deleteSnapshots, forgetByPolicy } from 'ldm-backup';
import { context } from './context.js';

const policy = { counts: { last: 1, daily: 14, monthly: Infinity } };
const plan = await forgetByPolicy(context, { policy, dryRun: true });
for (const { kept, removed } of plan.groups) console.log(`keep ${kept.length}, delete ${removed.length}`);

const selection = { selectors: ['latest'], filter: { tags: [['daily']] } };
const measured = await deleteSnapshots(context, { ...selection, dryRun: true });
console.log(`would free ${measured.freed.chunkCount} chunks of ${measured.snapshots.length} snapshot`);
