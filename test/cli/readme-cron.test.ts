import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

const README = readFileSync(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8');

test('the check in the crontab of the README reads a part in every week of the year, and all parts in turn', () => {
  // In a crontab a percent sign has a backslash before it.
  const words = /--read-data=(\S+ \S+ .*)$/m.exec(README)![1]!.replaceAll('\\%', '%');
  const lines = Array.from({ length: 53 }, (_, index) => {
    const week = String(index + 1).padStart(2, '0');
    return `echo ${words.replace('$(date +%V)', week)}\n`;
  });
  const parts = execFileSync('sh', ['-ec', lines.join('')], { encoding: 'utf8' })
    .split('\n')
    .slice(0, -1);
  expect(parts).toHaveLength(53);
  for (const part of parts) expect(part).toMatch(/^[1-4]\/4$/);
  expect(new Set(parts.slice(0, 4)).size).toBe(4);
});
