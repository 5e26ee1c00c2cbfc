import type { Backend } from '../backend/backend.ts';
import { readSurely } from '../backend/sure-reading.ts';
import { LdmError, isAbsent } from '../errors.ts';
import { decodeGroupIdentity } from '../format/group-list.ts';
import type { GroupIdentity } from '../format/group-list.ts';
import { GROUP_ID_NAME } from '../format/layout.ts';

/** @throws CorruptDataError */
export async function readGroupIdentity(backend: Backend): Promise<GroupIdentity> {
  return await readSurely(backend, GROUP_ID_NAME, async (from) =>
    decodeGroupIdentity(await from.read(GROUP_ID_NAME), GROUP_ID_NAME),
  );
}

/** Returns why a place is not that of a group now; undefined if it is. */
export async function offlineReasonOf(
  backend: Backend,
  expected: { readonly repositoryId: string; readonly groupId: string },
): Promise<string | undefined> {
  try {
    const { repositoryId, groupId } = await readGroupIdentity(backend);
    if (repositoryId !== expected.repositoryId) return 'it belongs to another repository';
    return groupId === expected.groupId ? undefined : 'another group of this repository is there';
  } catch (error) {
    if (!isAbsent(error)) return describe(error);
    const isDirectory = backend.localDirectory !== undefined;
    return `there is no file ${GROUP_ID_NAME}${isDirectory ? '; is its disk mounted?' : ''}`;
  }
}

/** With what to do about it: a group that is offline is no error of its own, which would have a hint. */
function describe(error: unknown): string {
  const { message } = error as Error;
  return error instanceof LdmError && error.hint !== undefined ? `${message}. ${error.hint}` : message;
}
