// read.ts
import { text } from 'node:stream/consumers';
import { nameBytes, openSnapshot, textOf } from 'ldm-backup';
import { context } from './context.js';

const snapshot = await openSnapshot(context, { selector: 'latest' });
try {
  const [source] = snapshot.listing.snapshot.paths;
  for await (const entry of snapshot.entries(nameBytes(source!))) console.log(entry.type, textOf(entry.name));

  const table = await snapshot.stat(`${process.cwd()}/data/table.csv`);
  console.log(JSON.stringify(await text(snapshot.readFile(table))));
  const range = await snapshot.readRange(table, 4, 3);
  console.log(JSON.stringify(new TextDecoder().decode(range)));
} finally {
  await snapshot.close();
}
