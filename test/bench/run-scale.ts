import { filterRow, pagedRow } from './scale.ts';

/** `npm run scale -- 100000 1000000`: prints the rows of docs/scale.md for these numbers of chunks. */
const sizes = process.argv.slice(2).map(Number);
for (const chunks of sizes.length === 0 ? [100_000, 1_000_000, 10_000_000] : sizes) {
  console.log(`| ${filterRow(chunks).join(' | ')} |`);
  console.log(`| ${pagedRow(chunks).join(' | ')} |`);
}
