// backup.ts
import { backup, createProgress } from 'ldm-backup';
import { context } from './context.js';

const progress = createProgress();
progress.isShown = true;
const timer = setInterval(() => {
  console.log(`${progress.phase}: ${progress.filesDone} of ${progress.filesTotal ?? '?'} files`);
}, 1000);
try {
  const result = await backup(
    { ...context, progress },
    { sources: ['data'], cwd: process.cwd(), exclude: ['*.tmp'], tags: ['daily'] },
  );
  const { filesNew, totalBytesProcessed } = result.summary;
  console.log(`${filesNew} new files, ${totalBytesProcessed} bytes, ${result.problems.length} problems`);
} finally {
  clearInterval(timer);
}
