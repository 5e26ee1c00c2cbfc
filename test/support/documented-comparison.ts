import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const SAME = 'The same on every machine\n';
/** The pages of a B+ tree are those of the system: its sizes may differ elsewhere. */
export const ELSEWHERE_OTHER: RegExp = /^ {2}b-plus-tree .*\n/m;

/** The tables of a documented run that depend on the options and the seed alone: rates and sizes, and chains. */
export function sameEverywhere(text: string): string {
  const start = text.indexOf(SAME);
  return text.slice(start, text.indexOf('\n\nOn this machine', start)).replace(ELSEWHERE_OTHER, '');
}

/** What docs/filters.md says that `ldm filter compare -n` prints, by the number of elements as it stands there. */
export function documentedComparisons(): Map<string, string> {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'filters.md'), 'utf8');
  const runs = page.matchAll(/^```console\n\$ ldm filter compare -n (\S+)\n([^]*?)\n```$/gm);
  return new Map([...runs].map(([, size, text]) => [size!, text!]));
}
