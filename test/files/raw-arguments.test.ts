import { describe, expect, it } from 'vitest';

import { rawArguments, recoverBytes } from '../../src/files/raw-arguments.ts';
import { byteStringFromText } from '../../src/util/byte-string.ts';
import { bytes } from './sample-entry.ts';

describe('recoverBytes', () => {
  it('gives each damaged text the argument that looks like it, in turn', () => {
    const raw = [bytes('node'), bytes(0xff), bytes('é'), bytes(0xfe), bytes('x', 0xff)];
    expect(recoverBytes(['\ufffd', 'é', 'x\ufffd', '\ufffd', '\ufffd'], raw)).toEqual([
      bytes(0xff),
      bytes('é'),
      bytes('x', 0xff),
      bytes(0xfe),
      byteStringFromText('\ufffd'),
    ]);
  });

  it('takes a real replacement character for what it is', () => {
    expect(recoverBytes(['\ufffd'], [byteStringFromText('\ufffd')])).toEqual([byteStringFromText('\ufffd')]);
    expect(recoverBytes(['\ufffd'], undefined)).toEqual([byteStringFromText('\ufffd')]);
  });
});

it.runIf(process.platform === 'linux')('rawArguments gives the arguments of this process', () => {
  const raw = rawArguments()!;
  expect(raw.length).toBeGreaterThan(0);
  expect(raw).not.toContain('');
});
