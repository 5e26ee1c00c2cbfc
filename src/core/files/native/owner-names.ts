import { readFileSync } from 'node:fs';
import type { ByteString } from '../../util/byte-string.ts';

/** Maps ids of users and groups to names and back. Unknown ids map to '', unknown names to undefined. */
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
 * Reads names from files like /etc/passwd and /etc/group when they are first needed. A missing or unreadable file
 * counts as empty: a backup works without names.
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

/** Lines of `name:password:id:...`. As in the C library, the first line with a name or an id counts. */
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
