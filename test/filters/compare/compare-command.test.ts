import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseJsonLines } from '../../cli/scenario.ts';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import { runLdm } from '../../support/run-ldm.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

describe('ldm filter compare', () => {
  const few = ['-n', '1e3', '--rounds', '1', '--structure', 'bloom', '--structure', 'hash-set'];

  it('prints its seed, then what is the same on every machine, then times and a verdict', async () => {
    const { code, stdout, stderr } = await runLdm(['filter', 'compare', ...few, '--seed', '9']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^seed 9, n = 1,000 random ids of 20 bytes, made for a rate of 1 %\n/);
    const parts = ['The same on every machine', 'On this machine', 'Which for what'].map((part) =>
      stdout.indexOf(part),
    );
    expect(parts).toEqual(parts.toSorted((a, b) => a - b));
    expect(parts).not.toContain(-1);
    expect(stdout).toMatch(/^ {2}bloom +9\.\d\d +\d[\d.]* % +\d[\d.]* % +\d[\d.]* % +\d/m);
    expect(stdout).toContain('With uniform ids, used without hashing\n');
    expect(stdout).toContain('differences below 25 % are ties');
  });

  it('prints the empty cells of the DIBF and the memory of both beside those of the LDM filter', async () => {
    const both = ['--structure', 'ldm', '--structure', 'dibf'];
    const { code, stdout } = await runLdmHere(['filter', 'compare', '-n', '1e3', '--rounds', '1', ...both]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}dibf +by cell +1,024 +\d+ \(3\d\.\d %\) +[\d.]+ +\d+ +[\d.]+ +\d+\.\d\d$/m);
    expect(stdout).toMatch(/^ {2}ldm +by link position +10,\d{3} +9,\d{3} \(9\d\.\d %\)/m);
    expect(stdout).toMatch(/^ {2}ldm +as saved +1,000 +\d+ \(3\d\.\d %\)/m);
    expect(stdout).toMatch(/ldm takes \d+\.\d\d times the memory of dibf/);
  });

  it('gives a JSON line for each structure and a summary, and the same as CSV', async () => {
    const file = join(memoryDirectory(), 'figures.csv');
    const { code, stdout } = await runLdmHere(['filter', 'compare', ...few, '--json', '--no-progress', '--csv', file]);
    expect(code).toBe(0);
    const messages = parseJsonLines(stdout);
    const settings = { elements: 1000, fpr_target: 0.01, seed: 1 };
    expect(messages).toEqual([
      expect.objectContaining({
        message_type: 'structure',
        structure: 'bloom',
        halved: null,
        delete_ns: null,
        ...settings,
      }),
      expect.objectContaining({ message_type: 'structure', structure: 'hash-set', on_disk: false, ...settings }),
      expect.objectContaining({ message_type: 'summary', recommendations: expect.any(Array), ...settings }),
    ]);
    const fill = { bits_per_element: expect.any(Number), fpr_predicted: 0, fpr_measured: 0, false_negatives: 0 };
    expect(messages[0]).toMatchObject({ uniform_ids: { full: { fpr_measured: expect.any(Number) }, delete_ns: null } });
    expect(messages[1]).toMatchObject({
      full: fill,
      uniform_ids: { full: fill, halved: fill },
      halved: fill,
      growth: { outcome: 'grows', elements: 2000, ...fill },
    });
    const [head, ...rows] = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(rows).toHaveLength(2);
    const columns = head!.split(',');
    for (const row of rows) expect(row.split(',')).toHaveLength(columns.length);
    const bits = rows[0]!.split(',')[columns.indexOf('bits_per_element')];
    expect(Number(bits)).toBe((messages[0]!['full'] as Record<string, number>)['bits_per_element']);
  });

  it.each([
    ['-n', '99'],
    ['-n', '1.5'],
    ['-n', '1e99'],
    ['--fpr', '1'],
    ['--seed', '-1'],
    ['--structure', 'abacus'],
    ['--rounds', '0'],
    ['--csv', '.'],
  ])('refuses %s %s', async (option, value) => {
    const { code, stdout, stderr } = await runLdmHere(['filter', 'compare', '-n', '100', option, value]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).not.toContain('internal error');
  });
});
