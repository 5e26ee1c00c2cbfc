// failed-files.mjs <results of a run>: prints the test files that failed, one a line. Prints nothing if something failed
// outside of the files, since running them again would not repeat it.
import { existsSync, readFileSync } from 'node:fs';

const [results] = process.argv.slice(2);
const lines = existsSync(results) ? readFileSync(results, 'utf8').split('\n') : [];
const failed = lines.filter((line) => line !== '').map((line) => JSON.parse(line));
const files = new Set(failed.filter(({ state }) => state === 'failed').map(({ name }) => name.split(' > ')[0]));
if (![...files].some((file) => !file.endsWith('.test.ts'))) for (const file of files) process.stdout.write(`${file}\n`);
