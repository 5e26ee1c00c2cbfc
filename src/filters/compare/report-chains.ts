import type { StructureResult } from './compare.ts';
import { formatTable } from '../../console/output/tables.ts';
import { formatCount, formatPercent } from '../../console/output/words.ts';

/** Describes the chains of the exact structures, by each definition, and the number of empty places. */
export function describeChains(structures: readonly StructureResult[]): string[] {
  const rows = structures.flatMap(({ name, full, chains }) =>
    (chains ?? []).map(({ definition, places, chains: { count, mean, max, meanVisited } }) => [
      name,
      definition,
      formatCount(places),
      `${formatCount(places - count)} (${formatPercent((places - count) / places)})`,
      mean.toFixed(2),
      String(max),
      meanVisited.toFixed(2),
      full.bitsPerElement.toFixed(2),
    ]),
  );
  if (rows.length === 0) return [];
  const head = ['structure', 'chains', 'places', 'empty', 'mean', 'longest', 'visited per hit', 'bits/el.'];
  const table = formatTable(rows, { head, rightAligned: [2, 3, 4, 5, 6, 7], indent: '  ' });
  return [`Chains, and the memory for them, with n elements\n${table}${describeMemory(structures)}`];
}

/** Compares the memory of the two structures of the LDM paper. */
function describeMemory(structures: readonly StructureResult[]): string {
  const [ldm, dibf] = (['ldm', 'dibf'] as const).map((wanted) => structures.find(({ name }) => name === wanted));
  if (ldm === undefined || dibf === undefined) return '';
  const ratio = ldm.full.bitsPerElement / dibf.full.bitsPerElement;
  return `\n  ldm takes ${ratio.toFixed(2)} times the memory of dibf; it also stores locations and reference counts, unlike dibf`;
}
