// cancel.ts
import { CancelledError, backup } from 'ldm-backup';
import { context, controller } from './context.js';

process.once('SIGINT', () => controller.abort());

try {
  await backup(context, {
    sources: ['data'],
    cwd: process.cwd(),
    // Instead of a user who presses Ctrl-C.
    onEntry: () => process.emit('SIGINT'),
  });
} catch (error) {
  if (!(error instanceof CancelledError)) throw error;
  console.log(error.message);
}
