import { readFileSync } from 'node:fs';
import type { ByteString } from '../util/byte-string.ts';

/** Names of users and groups, and back. What is not known is '' or undefined. */
export interface OwnerNames {
  userName(uid: number): ByteString;
  groupName(gid: number): ByteString;
  userId(name: ByteString): number | undefined;
  groupId(name: ByteString): number | undefined;
}

interface NameTable {
  readonly names: Map<number, ByteString>;
  readonly ids: Map<ByteString, number>;
}

/**
 * Names from files in the form of /etc/passwd and /etc/group, each read when first needed.
 * A file that is missing or unreadable knows no names: a backup works without.
 */
export function openOwnerNames(passwdPath = '/etc/passwd', groupPath = '/etc/group'): OwnerNames {
  let userTable: NameTable | undefined;
  let groupTable: NameTable | undefined;
  const users = (): NameTable => (userTable ??= readTable(passwdPath));
  const groups = (): NameTable => (groupTable ??= readTable(groupPath));
  return {
    userName: (uid) => users().names.get(uid) ?? ('' as ByteString),
    groupName: (gid) => groups().names.get(gid) ?? ('' as ByteString),
    userId: (name) => users().ids.get(name),
    groupId: (name) => groups().ids.get(name),
  };
}

/** Lines of `name:password:id:...`; the first line for a name or an id counts, as in the C library. */
function readTable(path: string): NameTable {
  const table: NameTable = { names: new Map(), ids: new Map() };
  for (const line of readLines(path)) {
    const [name = '', , digits = ''] = line.split(':');
    if (name === '' || name.startsWith('#') || !/^\d{1,10}$/.test(digits)) continue;
    const id = Number(digits);
    if (!table.names.has(id)) table.names.set(id, name as ByteString);
    if (!table.ids.has(name as ByteString)) table.ids.set(name as ByteString, id);
  }
  return table;
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'latin1').split('\n');
  } catch {
    return [];
  }
}
