import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { diffTrees } from '../../support/compare-trees.ts';

/** What is known of a snapshot. `perhaps saved`: its backup failed or was killed. */
export type State = 'perhaps saved' | 'saved' | 'perhaps deleted' | 'deleted';

/** What a restore must bring back: a tree, or a file `stream` of which this is the digest. */
export type Content = ReadonlyMap<string, string> | string;

/** A snapshot that a command has saved, or has tried to. */
export interface Entry {
  /** Which only this snapshot has. */
  readonly tag: string;
  readonly host: string;
  readonly content: Content;
  state: State;
  id?: string;
  /** How many commands may be deleting it now. */
  deletions: number;
}

export interface ListedSnapshot {
  readonly id: string;
  readonly hostname: string;
  readonly tags: readonly string[];
}

/** The snapshots of a repository as the results of all commands say. */
export class Ledger {
  readonly entries: Entry[] = [];
  /** What must not be. */
  readonly failures: string[] = [];

  add(entry: Pick<Entry, 'tag' | 'host' | 'content'>): Entry {
    const added: Entry = { ...entry, state: 'perhaps saved', deletions: 0 };
    this.entries.push(added);
    return added;
  }

  /** What commands have reported as saved, and none has tried to delete. */
  saved(host?: string): Entry[] {
    return this.entries.filter((entry) => entry.state === 'saved' && (host === undefined || entry.host === host));
  }

  fail(text: string): void {
    this.failures.push(text);
  }

  /** Compares a listing that nothing disturbs with what must be there. Returns the entries that are listed. */
  compareListing(listed: readonly ListedSnapshot[]): Entry[] {
    const found: Entry[] = [];
    for (const { id, tags } of listed) {
      const entry = this.entries.find(({ tag }) => tags.includes(tag));
      if (entry === undefined) this.fail(`${id} is listed, and no command has saved it`);
      else if (entry.state === 'deleted') this.fail(`${entry.tag} (${id}) is listed, but was deleted`);
      else if (found.includes(entry)) this.fail(`${entry.tag} is listed twice`);
      else {
        if (entry.id !== undefined && entry.id !== id) this.fail(`${entry.tag} is ${id}, but was saved as ${entry.id}`);
        entry.id = id;
        found.push(entry);
      }
    }
    for (const entry of this.saved())
      if (!found.includes(entry)) this.fail(`${entry.tag} (${entry.id}) was saved, and is not listed`);
    return found;
  }

  /** `directory`: where the snapshot was restored to. */
  compareContent({ tag, content }: Entry, directory: string): void {
    if (typeof content !== 'string') {
      const differences = diffTrees(content, join(directory, 'source'), { differenceCountMax: 5 });
      if (differences.length > 0) this.fail(`${tag} differs: ${differences.join('; ')}`);
    } else if (digestOf(readFileSync(join(directory, 'stream'))) !== content) this.fail(`the stream of ${tag} differs`);
  }
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
