import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { readMetadata } from '../../src/core/files/source/source-metadata.ts';
import { SourceStream } from '../../src/core/files/source/source-stream.ts';
import { byteStringFromText } from '../../src/core/util/byte-string.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import { testNeeding } from '../support/tools.ts';
import { NO_ROOT } from '../support/unprivileged.ts';

const OWN = `/proc/${process.pid}`;
/** Every file of sysfs has a size of 4096, whatever it holds. */
const SYSFS_FILE = '/sys/kernel/fscaps';

describe.runIf(existsSync('/proc/self/pagemap'))('files that the kernel generates', () => {
  it('are saved with what they hold, although their size says nothing; one without an end is left out', async () => {
    const repository = await makeTestRepository();
    const named = [`${OWN}/cmdline`, ...(existsSync(SYSFS_FILE) ? [SYSFS_FILE] : [])];
    const endless = `${OWN}/pagemap`;
    const { problems, summary } = await repository.backup({ sources: [...named, endless] });
    expect(problems).toMatchObject([{ path: endless, during: 'read' }]);
    expect(summary).toMatchObject({ filesNew: named.length, errorCount: 1 });
    const { target } = await repository.restore();
    const base = named.length > 1 ? '/' : OWN;
    for (const path of named) {
      expect(readFileSync(join(target, path.slice(base.length)), 'latin1')).toBe(readFileSync(path, 'latin1'));
    }
  });

  it('are given up after 32 MiB where they have no end', () => {
    const path = byteStringFromText(`${OWN}/pagemap`);
    const stream = new SourceStream({ path, metadata: readMetadata(path) });
    const buffer = Buffer.alloc(8 << 20);
    const readAll = (): void => {
      for (let round = 0; round < 16; round += 1) stream.fill(buffer, 0);
    };
    // 256 GB: 8 bytes for each page that the process could have.
    expect(readAll).toThrow(/no reasonable end/);
    expect(stream.sizeBytes).toBe(40 << 20);
    stream.close();
  });

  it('are not begun where they claim to be huge, as /proc/kcore does', () => {
    const path = byteStringFromText(`${OWN}/status`);
    const stream = new SourceStream({ path, metadata: { ...readMetadata(path), sizeBytes: 2 ** 47 } });
    expect(() => stream.fill(Buffer.alloc(64), 0)).toThrow(/no reasonable end/);
    expect(stream.sizeBytes).toBe(0);
    stream.close();
  });

  testNeeding(NO_ROOT, existsSync('/proc/kmsg') ? '' : 'there is no /proc/kmsg')('are not waited for', async () => {
    const repository = await makeTestRepository();
    // This reads the log of the kernel, and then waits for more if it is allowed to.
    const sources = ['/proc/kmsg', join(OWN, 'comm')];
    const { problems, summary } = await repository.backup({ sources });
    expect(problems).toMatchObject([{ path: '/proc/kmsg' }]);
    expect(summary.filesNew).toBe(1);
  });
});
