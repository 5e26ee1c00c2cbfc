import { spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createPrng } from '../../support/prng.ts';

/** A copy of `source` after some work: every 40th file grew, every 100th is gone, and a directory of new files came. */
export function makeChanged(directory: string, source: string): void {
  const copy = spawnSync('cp', ['-a', `${source}/.`, directory], { stdio: ['ignore', 'ignore', 'pipe'] });
  if (copy.status !== 0) throw new Error(`cp failed: ${copy.stderr.toString()}`);
  const prng = createPrng(20);
  const files = listFiles(Buffer.from(directory).toString('latin1'));
  files.forEach((path, index) => {
    const location = Buffer.from(path, 'latin1');
    if (index % 100 === 99) rmSync(location);
    else if (index % 40 === 7) {
      chmodSync(location, 0o644);
      appendFileSync(location, prng.bytes(1000 + prng.int(9000)));
    }
  });
  mkdirSync(`${directory}/new-files`);
  for (let index = 0; index < Math.max(5, files.length / 100); index++) {
    writeFileSync(`${directory}/new-files/file-${index}`, prng.bytes(prng.int(60_000)));
  }
}

function listFiles(directory: string): string[] {
  return readdirSync(Buffer.from(directory, 'latin1'), 'latin1')
    .sort()
    .flatMap((name) => {
      const path = `${directory}/${name}`;
      return lstatSync(Buffer.from(path, 'latin1')).isDirectory() ? listFiles(path) : [path];
    });
}
