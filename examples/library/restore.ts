// restore.ts
import { readFile } from 'node:fs/promises';
import { restore, textOf } from 'ldm-backup';
import { context } from './context.js';

const result = await restore(context, { selector: 'latest', target: 'restored', include: ['*.txt'], verify: true });
console.log(`${result.filesRestored} restored, ${result.filesVerified} verified`);
for (const { path, message } of result.problems) console.log(`${textOf(path)}: ${message}`);
console.log(JSON.stringify(await readFile('restored/data/notes/list.txt', 'utf8')));
