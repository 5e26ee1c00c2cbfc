import { rmSync } from 'node:fs';

import { describeTree } from '../../support/compare-trees.ts';
import { mutateTree } from '../../support/random-tree.ts';
import { REMOTE } from './client.ts';
import type { Client, RunResult, Surroundings } from './client.ts';
import { digestOf } from './ledger.ts';
import type { Entry, ListedSnapshot } from './ledger.ts';

/** How many snapshots of a client a rule keeps. */
const KEPT = '22';

/** A command of a client, and what its result says about the snapshots. */
export type Operation = (client: Client, storm: Surroundings, tag: string) => Promise<RunResult | undefined>;

/** Each with how often it is chosen. */
export const OPERATIONS: readonly (readonly [string, number, Operation])[] = [
  ['backup', 36, backup],
  ['backup of a stream', 6, backupStream],
  ['copy from a second repository', 4, copyIn],
  ['restore', 12, restore],
  ['delete', 9, deleteOne],
  ['forget', 4, forget],
  ['compact', 8, compact],
  ['check', 7, check],
  ['copy to a second repository', 6, copyOut],
  ['list', 4, list],
];

const saveOptions = (client: Client, tag: string): string[] => ['--tag', tag, '--host', client.host];

function note(entry: Entry, { code, messages }: RunResult): void {
  if (code !== 0) return;
  entry.state = 'saved';
  entry.id = messages.findLast(({ message_type }) => message_type === 'summary')!['snapshot_id'] as string;
}

async function backup(client: Client, { ledger }: Surroundings, tag: string): Promise<RunResult> {
  mutateTree(client.source, client.prng, { changeCount: client.prng.int(9) });
  const entry = ledger.add({ tag, host: client.host, content: describeTree(client.source) });
  const result = await client.run(['backup', 'source', ...saveOptions(client, tag)]);
  note(entry, result);
  return result;
}

async function backupStream(client: Client, { ledger }: Surroundings, tag: string): Promise<RunResult> {
  const input = client.prng.bytes(client.prng.int(1_500_000));
  const entry = ledger.add({ tag, host: client.host, content: digestOf(input) });
  const result = await client.run(['backup', '--stdin-name', 'stream', ...saveOptions(client, tag)], { input });
  note(entry, result);
  return result;
}

/** Saves the source in the second repository first, where nothing is disturbed. */
async function copyIn(client: Client, { ledger }: Surroundings, tag: string): Promise<RunResult | undefined> {
  mutateTree(client.source, client.prng, { changeCount: client.prng.int(9) });
  const content = describeTree(client.source);
  const options = [...saveOptions(client, tag), '-r', client.second];
  const saved = await client.runCalmly(['backup', 'source', ...options]);
  if (saved.code !== 0) throw new Error(`the second repository fails: ${saved.stderr}`);
  const id = saved.messages.at(-1)!['snapshot_id'] as string;
  client.copies.add({ tag, host: client.host, content }).state = 'saved';
  const entry = ledger.add({ tag, host: client.host, content });
  const result = await client.run(['copy', id, '--to', REMOTE, '-r', client.second]);
  if (result.code !== 0) return result;
  entry.state = 'saved';
  entry.id = result.messages.find(({ message_type }) => message_type === 'copied')!['copy_id'] as string;
  return result;
}

async function restore(client: Client, { ledger }: Surroundings): Promise<RunResult | undefined> {
  const entries = ledger.saved();
  if (entries.length === 0) return undefined;
  const entry = client.prng.pick(entries);
  const result = await client.run(['restore', entry.id!, '-t', client.emptyTarget()]);
  if (result.code === 0) ledger.compareContent(entry, `${client.directory}/out`);
  return result;
}

async function deleteOne(client: Client, { ledger }: Surroundings): Promise<RunResult | undefined> {
  const entries = ledger.saved();
  if (entries.length < 6) return undefined;
  // Often one that others compare their next backup with.
  const entry = client.prng.pick(client.prng.int(2) === 0 ? entries.slice(-3) : entries);
  entry.state = 'perhaps deleted';
  entry.deletions += 1;
  const result = await client.run(['delete', entry.id!, ...client.prng.pick([[], [], ['--no-reclaim']])]);
  entry.deletions -= 1;
  if (result.code === 0) entry.state = 'deleted';
  // Nothing was done while another command held the lock.
  else if (result.code === 11 && entry.state === 'perhaps deleted') entry.state = 'saved';
  return result;
}

async function forget(client: Client, { ledger }: Surroundings): Promise<RunResult> {
  const rules = ['--keep-last', KEPT, '--host', client.host, '--path', client.source];
  const mine = ledger.saved(client.host);
  for (const entry of mine) entry.deletions += 1;
  const result = await client.run(['forget', ...rules]);
  for (const entry of mine) entry.deletions -= 1;
  if (result.code === 0) {
    const groups = result.messages.filter(({ message_type }) => message_type === 'forget');
    const idsOf = (kind: string): string[] =>
      groups.flatMap((group) => (group[kind] as readonly ListedSnapshot[]).map(({ id }) => id));
    const [kept, removed] = [idsOf('keep'), idsOf('remove')];
    if (removed.length > 0 && kept.length !== Number(KEPT)) ledger.fail(`forget kept ${kept.length} (${client.host})`);
    for (const entry of ledger.entries.filter(({ id }) => id !== undefined && removed.includes(id))) {
      if (entry.host !== client.host) ledger.fail(`forget of ${client.host} deleted ${entry.tag} of ${entry.host}`);
      entry.state = 'deleted';
    }
  } else if (result.code !== 11) {
    for (const entry of mine.slice(0, -Number(KEPT))) if (entry.state === 'saved') entry.state = 'perhaps deleted';
  }
  return result;
}

async function compact(client: Client): Promise<RunResult> {
  return await client.run(['compact', ...client.prng.pick([[], ['--max-unused', '0']])]);
}

async function check(client: Client, storm: Surroundings): Promise<RunResult> {
  const result = await client.run(['check', ...client.prng.pick([[], [], ['--read-data']])]);
  const findings = result.messages.filter(({ message_type }) => message_type === 'finding');
  for (const finding of findings) storm.log(`finding: ${JSON.stringify(finding)}`);
  if (result.code !== 4) return result;
  if (!storm.place.leavesParts) storm.ledger.fail(`check found damage: ${JSON.stringify(findings).slice(0, 1500)}`);
  const repaired = await client.runCalmly(['repair']);
  storm.log(`repair: ${repaired.code} ${JSON.stringify(repaired.messages)} ${repaired.stderr}`);
  return { ...result, code: 0 };
}

async function copyOut(client: Client, { ledger }: Surroundings): Promise<RunResult | undefined> {
  const entries = ledger.saved().filter(({ tag }) => client.copies.entries.every((copy) => copy.tag !== tag));
  if (entries.length === 0) return undefined;
  const { tag, host, content, id } = client.prng.pick(entries);
  const result = await client.run(['copy', id!, '--to', client.second]);
  const copy = client.copies.add({ tag, host, content });
  if (result.code === 0) copy.state = 'saved';
  return result;
}

/** On a machine that knows nothing, now and then. */
async function list(client: Client): Promise<RunResult> {
  if (client.prng.int(3) === 0) client.forgetCache();
  rmSync(`${client.directory}/out`, { recursive: true, force: true });
  return await client.run(client.prng.pick([['snapshots'], ['ls', 'latest', '-H', client.host]]));
}
