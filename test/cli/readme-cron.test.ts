import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

const README = readFileSync(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8');

test('the check in the crontab of the README reads a part in every week of the year, and all parts in turn', () => {
  // In a crontab a percent sign has a backslash before it.
  const words = /--read-data=(\S+ \S+ .*)$/m.exec(README)![1]!.replaceAll('\\%', '%');
  const parts = Array.from({ length: 53 }, (_, index) => {
    const week = String(index + 1).padStart(2, '0');
    return execFileSync('sh', ['-c', `echo ${words.replace('$(date +%V)', week)}`], { encoding: 'utf8' });
  });
  for (const part of parts) expect(part).toMatch(/^[1-4]\/4\n$/);
  expect(new Set(parts.slice(0, 4)).size).toBe(4);
});
