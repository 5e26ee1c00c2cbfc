import { describe, expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { rawArguments, recoverBytes } from '../../../src/console/input/raw-arguments.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { bytes } from '../../core/files/sample-entry.ts';

describe('recoverBytes', () => {
  it('gives each damaged text the argument that looks like it, in turn', () => {
    const raw = [bytes('node'), bytes(0xff), bytes('é'), bytes(0xfe), bytes('x', 0xff)];
    expect(recoverBytes(['\ufffd', 'é', 'x\ufffd', '\ufffd'], raw)).toEqual([
      bytes(0xff),
      bytes('é'),
      bytes('x', 0xff),
      bytes(0xfe),
    ]);
  });

  it('finds the value of an option, also where it stands in one argument with it', () => {
    for (const argument of [bytes('--target=', 0xff), bytes('-t', 0xff), bytes(0xff)]) {
      expect(recoverBytes(['\ufffd'], [bytes('node'), argument])).toEqual([bytes(0xff)]);
    }
  });

  it('takes a real replacement character for what it is', () => {
    expect(recoverBytes(['\ufffd'], [byteStringFromText('\ufffd')])).toEqual([byteStringFromText('\ufffd')]);
  });

  it.each([
    ['nobody says what was typed', ['\ufffd'], undefined],
    ['no argument looks like it', ['\ufffd'], [bytes('node')]],
    ['another argument looks the same', ['\ufffd'], [bytes(0xff), bytes(0xfe)]],
    ['the value of an option looks the same', ['\ufffd'], [bytes('--exclude=', 0xff), bytes(0xfe)]],
    ['fewer arguments look like it', ['\ufffd', '\ufffd', '\ufffd'], [bytes(0xff), bytes(0xfe)]],
  ])('refuses to guess where %s', (_, texts, raw) => {
    expect(() => recoverBytes(texts, raw)).toThrow(UsageError);
  });

  it('one name that was given several times is that name', () => {
    expect(recoverBytes(['\ufffd'], [bytes(0xff), bytes('-t', 0xff)])).toEqual([bytes(0xff)]);
  });
});

it.runIf(process.platform === 'linux')('rawArguments gives the arguments of this process', () => {
  const raw = rawArguments()!;
  expect(raw.length).toBeGreaterThan(0);
  expect(raw).not.toContain('');
});
