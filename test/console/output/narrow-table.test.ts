import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';

import { formatTable } from '../../../src/console/output/tables.ts';
import { makeScenario } from '../../cli/scenario.ts';
import { testProperty } from '../../support/property.ts';
import { cleanEnvironment } from '../../support/run-ldm.ts';
import { converse, hasTerminal } from '../../support/terminal-conversation.ts';

const HEAD = ['ID', 'Time', 'Tags', 'Size', 'Paths'];
const OPTIONS = {
  head: HEAD,
  rightAligned: [3],
  shortened: [
    { column: 4, keeps: 'end' },
    { column: 2, keeps: 'start' },
  ],
} as const;
const ROW = ['1a2b3c4d', '2026-01-31 18:00:00', 'weekly,offsite', '3.6 MiB', '/home/me/photos/2026'];

const text = fc.string({ unit: fc.constantFrom('a', 'b', '/', '日', 'e\u0301'), maxLength: 30 });
const rowsOfSnapshots = fc.array(
  fc.tuple(fc.constantFrom('1a2b3c4d', '5e6f7a8b'), fc.constant(ROW[1]!), text, fc.constant(ROW[3]!), text),
  { minLength: 1, maxLength: 5 },
);

/** Whether a row fits in a line when its tags and paths have the 10 columns that they keep, or fewer if they are shorter. */
function hasRoomForRows(rows: readonly (readonly string[])[], columns: number): boolean {
  const widths = HEAD.map((_, column) => {
    const width = Math.max(...[HEAD, ...rows].map((row) => stringWidth(row[column]!)));
    return OPTIONS.shortened.some((each) => each.column === column) ? Math.min(width, 10) : width;
  });
  return columns >= 60 && widths.reduce((sum, width) => sum + width) + 2 * (HEAD.length - 1) <= columns;
}

describe('a table on a narrow terminal', () => {
  testProperty('has no line that is too long, and whole ids, times and sizes', (check) => {
    check(
      fc.property(rowsOfSnapshots, fc.integer({ min: 34, max: 120 }), (rows, columns) => {
        const shown = formatTable(rows, { ...OPTIONS, columns });
        for (const line of shown.split('\n')) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
        for (const fixed of [0, 1, 3].map((column) => rows[0]![column]!)) {
          expect(shown.split(fixed).length - 1).toBe(rows.filter((row) => row.includes(fixed)).length);
        }
        const lineCount = (rows.length + 1) * (hasRoomForRows(rows, columns) ? 1 : 2);
        expect(shown.split('\n').length).toBeLessThanOrEqual(lineCount);
      }),
    );
  });

  testProperty('is the same as any other if it fits', (check) => {
    check(
      fc.property(rowsOfSnapshots, (rows) => {
        const shown = formatTable(rows, OPTIONS);
        const columns = Math.max(...shown.split('\n').map((line) => stringWidth(line)));
        expect(formatTable(rows, { ...OPTIONS, columns: columns + HEAD.length })).toBe(shown);
      }),
    );
  });

  it('shortens the columns in turn, at the end that says less', () => {
    expect(formatTable([ROW], { ...OPTIONS, columns: 72 }).split('\n')).toEqual([
      'ID        Time                 Tags               Size  Paths',
      '1a2b3c4d  2026-01-31 18:00:00  weekly,offsite  3.6 MiB  …/me/photos/2026',
    ]);
    expect(formatTable([ROW], { ...OPTIONS, columns: 64 }).split('\n')[1]).toBe(
      '1a2b3c4d  2026-01-31 18:00:00  weekly,offs…  3.6 MiB  …otos/2026',
    );
  });

  it('has records of two lines below 60 columns', () => {
    expect(formatTable([ROW], { ...OPTIONS, columns: 42 }).split('\n')).toEqual([
      'ID        Time                    Size',
      '  Tags  Paths',
      '1a2b3c4d  2026-01-31 18:00:00  3.6 MiB',
      '  weekly,offsite  /home/me/photos/2026',
    ]);
    expect(
      formatTable([ROW], { ...OPTIONS, columns: 34 })
        .split('\n')
        .slice(2),
    ).toEqual(['1a2b3c4d  2026-01-31 18:00:00', '  3.6 MiB  weekly,off…  …otos/2026']);
  });

  it('has text below its name where there is no room beside it', () => {
    const rows = [['held for a-laptop-with-a-name', '1.2 MiB that nothing else needs, 3 holds']];
    expect(formatTable(rows, { columns: 32, indent: '  ' }).split('\n')).toEqual([
      '  held for a-laptop-with-a-name',
      '    1.2 MiB that nothing else',
      '    needs, 3 holds',
    ]);
  });

  it('breaks text beside its name at spaces, never before a unit, and leaves paths whole', () => {
    const rows = [['disk', '77.6 GiB of 252.0 GiB are free (30.8 %) below /mnt/backup/of/the/house']];
    expect(formatTable(rows, { columns: 28, indent: '  ' }).split('\n')).toEqual([
      '  disk  77.6 GiB of',
      '        252.0 GiB are free',
      '        (30.8 %) below',
      '        /mnt/backup/of/the/house',
    ]);
  });
});

it('snapshots fits the terminal, and a pipe gets everything', async ({ skip }) => {
  skip(!hasTerminal, 'script (of util-linux) is not installed');
  const { source, repository, run } = await makeScenario();
  await run(['backup', source, '--tag', 'a-very-long-tag,another-long-tag,and-one-more']);
  const main = join(import.meta.dirname, '../../../dist/cli/main.js');
  const ldm = `${process.execPath} ${main} -r ${repository} snapshots`;
  const terminal = converse(`stty cols 50; ${ldm}; ${ldm} > ${repository}.txt`, cleanEnvironment({}));
  expect(await terminal.ended).toBe(0);
  const lines = terminal.shown().split('\r\n');
  for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(50);
  expect(terminal.shown()).toContain('…');
  expect(readFileSync(`${repository}.txt`, 'utf8')).toContain(`a-very-long-tag,another-long-tag,and-one-more`);
});
