// Loaded before the program: the process stops itself right before the first call of `node:fs` that TEST_STOP_BEFORE
// matches, as if it was suspended there, until somebody sends SIGCONT. The pattern is for `<call> <paths>`.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const pattern = new RegExp(process.env.TEST_STOP_BEFORE);
let hasStopped = false;

for (const name of ['readdirSync', 'linkSync', 'renameSync']) {
  const real = fs[name];
  fs[name] = (...given) => {
    const paths = given.filter((value) => typeof value === 'string');
    if (!hasStopped && pattern.test([name, ...paths].join(' '))) {
      hasStopped = true;
      process.kill(process.pid, 'SIGSTOP');
    }
    return real(...given);
  };
}
syncBuiltinESMExports();
