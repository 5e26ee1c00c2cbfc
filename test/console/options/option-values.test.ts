import { describe, expect, it } from 'vitest';
import { capacityOf, chunkerOf } from '../../../src/console/options/chunker-options.ts';
import {
  capacityValue,
  partValue,
  percentValue,
  rateValue,
  timeValue,
} from '../../../src/console/options/option-values.ts';
import { DEFAULT_CHUNKER } from '../../../src/core/chunking/chunker.ts';

describe('capacity', () => {
  it('counts chunks without a unit, and bytes with one', () => {
    const fixed = chunkerOf('fixed', undefined);
    expect(capacityOf(capacityValue('640'), fixed)).toBe(640);
    expect(capacityOf(capacityValue('40GiB'), fixed)).toBe(640);
    expect(capacityOf(capacityValue('100GiB'), fixed)).toBe(1600);
    expect(capacityOf(capacityValue('1MiB'), fixed)).toBe(1);
    expect(capacityOf(capacityValue('1GiB'), DEFAULT_CHUNKER)).toBe(1024);
  });

  it.each(['0', '', '1.5', 'many'])('refuses %j or takes it as bytes', (text) => {
    if (text === '1.5') expect(capacityValue(text)).toEqual({ sizeBytes: 2 });
    else expect(() => capacityValue(text)).toThrow(/number of chunks/);
  });
});

describe('chunkerOf', () => {
  it('spreads FastCDC around its average', () => {
    expect(chunkerOf('fastcdc', undefined)).toEqual(DEFAULT_CHUNKER);
    expect(chunkerOf('fastcdc', 65_536)).toEqual({
      kind: 'fastcdc',
      minSizeBytes: 16_384,
      averageSizeBytes: 65_536,
      maxSizeBytes: 262_144,
    });
  });
});

describe('values', () => {
  it('read rates and percentages', () => {
    expect(rateValue('0.01')).toBe(0.01);
    expect(rateValue('1%')).toBe(0.01);
    expect(rateValue('1e-3')).toBe(0.001);
    expect(percentValue('5')).toBe(5);
    expect(percentValue('12.5%')).toBe(12.5);
    for (const text of ['0', '1', '-0.1', 'x']) expect(() => rateValue(text)).toThrow(/between 0 and 1/);
    for (const text of ['-1', '100.1', '', 'x']) expect(() => percentValue(text)).toThrow(/percentage/);
  });

  it('read parts', () => {
    expect(partValue('1/7')).toEqual({ part: 1, of: 7 });
    expect(partValue('7/7')).toEqual({ part: 7, of: 7 });
    for (const text of ['0/7', '8/7', '1', '1/0', 'a/b', '1/7/2']) expect(() => partValue(text)).toThrow(/n\/m/);
  });

  it('read times, local ones without a zone', () => {
    expect(timeValue('2026-01-31T18:00:00Z')).toBe('2026-01-31T18:00:00.000Z');
    expect(timeValue('2026-01-31T18:00:00+02:00')).toBe('2026-01-31T16:00:00.000Z');
    expect(timeValue('2026-01-31 18:00')).toBe(new Date(2026, 0, 31, 18).toISOString());
    expect(timeValue('2026-01-31')).toBe(new Date(2026, 0, 31).toISOString());
    for (const text of ['now', '2026-13-01', '31.01.2026', '18:00'])
      expect(() => timeValue(text)).toThrow(/Give a time/);
  });
});
