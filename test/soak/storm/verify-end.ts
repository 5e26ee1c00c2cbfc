import type { Client, RunResult, Surroundings } from './client.ts';
import type { Entry, Ledger, ListedSnapshot } from './ledger.ts';

/** Of the bytes of packs that a new repository with the same snapshots has. */
const PACK_BYTES_FACTOR_MAX = 1.3;
/** Where a repository without snapshots keeps nothing. */
const EMPTY_AT_THE_END = [
  'packs/',
  'snapshots/',
  'manifests.bak/',
  'deleted/',
  'condemned/',
  'locks/',
  'tmp/',
  'unfinished/',
];

/** Compares everything in a repository that nothing disturbs any more. Returns how many snapshots were compared. */
export async function verifyEnd(clients: readonly Client[], storm: Surroundings): Promise<number> {
  const { ledger } = storm;
  const client = clients[0]!;
  client.forgetCache();
  await checkAndRepair(client, storm);
  const listed = await listingOf(client, ledger, []);
  const entries = ledger.compareListing(listed);
  await compareAll(client, ledger, entries, []);
  for (const { second, copies, ...each } of clients.map((one) => ({ second: one.second, copies: one.copies, one }))) {
    const there = copies.compareListing(await listingOf(each.one, copies, ['-r', second]));
    await compareAll(each.one, copies, there, ['-r', second]);
    ledger.failures.push(...copies.failures.map((text) => `${each.one.host}, second repository: ${text}`));
  }
  if (ledger.failures.length > 0) return entries.length;
  // Each removes what it has left behind itself.
  for (const each of clients) await succeed(each, ledger, ['compact', '--max-unused', '0']);
  const packBytes = await packBytesOf(storm);
  const fresh = `${client.directory}/fresh`;
  await succeed(client, ledger, ['init', '-r', fresh]);
  const copied = await succeed(client, ledger, ['copy', '--to', fresh]);
  const freshBytes = Number(copied.messages.at(-1)?.['data_added_packed']);
  storm.log(`packs: ${packBytes} bytes, in a new repository ${freshBytes}`);
  if (!(packBytes <= freshBytes * PACK_BYTES_FACTOR_MAX))
    ledger.fail(`there are ${packBytes} bytes of packs, and a new repository has ${freshBytes}`);
  const check = await succeed(client, ledger, ['check', '--read-data']);
  storm.log(`last check: ${JSON.stringify(check.messages)}`);
  await empty(clients, storm, entries);
  return entries.length;
}

async function checkAndRepair(client: Client, storm: Surroundings): Promise<void> {
  const { ledger } = storm;
  const first = await client.runCalmly(['check', '--read-data']);
  storm.log(`check at the end: ${first.code} ${JSON.stringify(first.messages)} ${first.stderr}`);
  if (first.code === 0) return;
  if (first.code !== 4) return ledger.fail(`check ends with ${first.code}: ${first.stderr}`);
  const repaired = await client.runCalmly(['repair']);
  storm.log(`repair: ${repaired.code} ${JSON.stringify(repaired.messages)} ${repaired.stderr}`);
  const second = await client.runCalmly(['check', '--read-data']);
  if (second.code !== 0)
    ledger.fail(`check ends with ${second.code} after a repair: ${JSON.stringify(second.messages)}`);
}

async function succeed(client: Client, ledger: Ledger, args: readonly string[]): Promise<RunResult> {
  const result = await client.runCalmly([...args, '--lock-wait', '60s']);
  if (result.code !== 0) ledger.fail(`${args.join(' ')} ended with ${result.code} without a fault: ${result.stderr}`);
  return result;
}

async function listingOf(client: Client, ledger: Ledger, options: readonly string[]): Promise<ListedSnapshot[]> {
  const { messages } = await succeed(client, ledger, ['snapshots', ...options]);
  return messages.filter(({ message_type }) => message_type === 'snapshot') as never;
}

async function compareAll(
  client: Client,
  ledger: Ledger,
  entries: readonly Entry[],
  options: readonly string[],
): Promise<void> {
  for (const entry of entries) {
    const { code } = await succeed(client, ledger, ['restore', entry.id!, '-t', client.emptyTarget(), ...options]);
    if (code === 0) ledger.compareContent(entry, `${client.directory}/out`);
  }
}

async function packBytesOf({ place }: Surroundings): Promise<number> {
  const packs = [...(await place.files())].filter(([name]) => name.startsWith('packs/'));
  return packs.reduce((sum, [, sizeBytes]) => sum + sizeBytes, 0);
}

/** Deletes all snapshots. Then nothing of them may be left. */
async function empty(clients: readonly Client[], storm: Surroundings, entries: readonly Entry[]): Promise<void> {
  const { ledger } = storm;
  if (entries.length > 0) await succeed(clients[0]!, ledger, ['delete', ...entries.map(({ id }) => id!)]);
  for (const client of clients) {
    const { messages, stderr } = await succeed(client, ledger, ['compact', '--max-unused', '0']);
    storm.log(`last compaction of ${client.host}: ${JSON.stringify(messages)} ${stderr}`);
  }
  // Of killed backups, packs stay for a week where another machine has written them, and nothing is removed until then.
  if ((await leftOf(storm)).length > 0)
    await succeed(clients[0]!, ledger, ['compact', '--max-unused', '0', '--accept-older-state']);
  const wrong = await leftOf(storm);
  if (wrong.length > 0) ledger.fail(`left without a snapshot: ${wrong.join(' ')}`);
}

async function leftOf(storm: Surroundings): Promise<string[]> {
  const left = [...(await storm.place.files()).keys()];
  storm.log(`left: ${left.join(' ')}`);
  return left.filter((name) => EMPTY_AT_THE_END.some((directory) => name.startsWith(directory)));
}
