import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

// Another process, since only the built library is reached by the name of the package.
test('the built library is imported as ldm-backup/filters', () => {
  const script = `
    import { BloomFilter, CountingBloomFilter, stringFunnel } from 'ldm-backup/filters';
    const bloom = BloomFilter.forCapacity({ capacity: 10, falsePositiveRate: 0.01 });
    bloom.add(stringFunnel('one'));
    const counting = CountingBloomFilter.forCapacity({ capacity: 10, falsePositiveRate: 0.01 });
    counting.add(stringFunnel('one'));
    const loaded = BloomFilter.load(bloom.save());
    console.log(JSON.stringify([loaded.has(stringFunnel('one')), counting.delete(stringFunnel('one')), counting.elements]));
  `;
  const child = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: join(import.meta.dirname, '../..'),
    encoding: 'utf8',
  });
  expect([child.stderr, child.stdout.trim()]).toEqual(['', '[true,true,0]']);
});
