// check.ts
import { check } from 'ldm-backup';
import { context } from './context.js';

const result = await check(context, { readData: true });
const errors = result.findings.filter(({ severity }) => severity === 'error');
console.log(`${result.snapshotsChecked} snapshot, ${errors.length} errors`);
