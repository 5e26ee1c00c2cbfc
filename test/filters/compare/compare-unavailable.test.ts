import { expect, it } from 'vitest';
import { reportComparison } from '../../../src/filters/compare/report.ts';
import type { Output } from '../../../src/console/output/output.ts';
import { MissingPackageError } from '../../../src/core/errors.ts';
import { checkStructures, compareFilters } from '../../../src/filters/compare/compare.ts';
import { withoutPackagesHere } from '../../support/with-packages.ts';

it('the comparison goes on without a structure whose package is missing, and its row says what it needs', async () => {
  withoutPackagesHere('lmdb');
  const options = { elements: 100, falsePositiveRate: 0.01, seed: 1, structures: ['bloom', 'b-plus-tree'], rounds: 1 };
  const result = await compareFilters({}, options);
  expect(result.structures.map(({ name }) => name)).toEqual(['bloom']);
  expect(result.unavailable).toEqual([{ name: 'b-plus-tree', reason: expect.any(MissingPackageError) }]);
  expect(result.unavailable[0]!.reason.code).toBe('MISSING_PACKAGE');

  const lines: string[] = [];
  const messages: unknown[] = [];
  const output = {
    json: false,
    line: (text: string) => lines.push(text),
    message: (_type: string, fields: unknown) => messages.push(fields),
  };
  reportComparison(output as unknown as Output, options, result);
  expect(lines.join('\n')).toMatch(/^ {2}b-plus-tree: not measured, .*package lmdb.*\n {4}.*npm install 'lmdb@/m);
  const unavailable = { structure: 'b-plus-tree', code: 'MISSING_PACKAGE', hint: expect.stringContaining("'lmdb@") };
  expect(messages).toEqual([expect.objectContaining({ unavailable: [expect.objectContaining(unavailable)] })]);
});

it('a structure whose package is missing is refused only where it is asked for by name', () => {
  withoutPackagesHere('lmdb');
  expect(() => checkStructures(undefined, 0.01)).not.toThrow();
  expect(() => checkStructures(['b-plus-tree'], 0.01)).toThrow(MissingPackageError);
});
