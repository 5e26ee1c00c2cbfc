import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { encryption } from './test-password.ts';

// A child process of the tests of restores: kill-before-metadata-child.js <repository> <target> <mode of the type>
const [directory = '', target = '', typeMode = ''] = process.argv.slice(2);
const { lstatSync } = fs;

/** Dies when a new file of the type is examined, which is the first step of setting its metadata. */
function lstatOrDie(...words: Parameters<typeof lstatSync>): ReturnType<typeof lstatSync> {
  const stats = lstatSync(...words);
  if (stats !== undefined && (Number(stats.mode) & fs.constants.S_IFMT) === Number(typeMode)) {
    process.kill(process.pid, 'SIGKILL');
  }
  return stats;
}

Object.assign(fs, { lstatSync: lstatOrDie });
syncBuiltinESMExports();
await restore({ backend: new LocalBackend(directory), ...encryption }, { selector: 'latest', target });
