// errors.ts
import { LdmError, SnapshotNotFoundError, isDiskFull, restore } from 'ldm-backup';
import { context } from './context.js';

try {
  await restore(context, { selector: 'ffffffff', target: 'restored' });
} catch (error) {
  if (!(error instanceof LdmError)) throw error;
  console.log(error.code, error instanceof SnapshotNotFoundError, isDiskFull(error));
  console.log(error.message);
}
