import { readFileSync, writeFileSync } from 'node:fs';
import { exclusively } from '../../src/core/files/target/file-lock.ts';

/** Adds 1 to the number in a file, many times. */
const [path, times] = process.argv.slice(2);
for (let time = 0; time < Number(times); time += 1) {
  exclusively(path!, () => writeFileSync(path!, String(Number(readFileSync(path!, 'utf8')) + 1)));
}
