// list.ts
import { listSnapshots, textOf } from 'ldm-backup';
import { context } from './context.js';

for (const { snapshot } of await listSnapshots(context, { tags: [['daily']] })) {
  const names = snapshot.paths.map((path) => textOf(path).split('/').at(-1));
  console.log(`${names.join(', ')}: ${snapshot.summary.totalFilesProcessed} files, ${snapshot.tags.join(', ')}`);
}
