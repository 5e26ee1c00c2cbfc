import { RefusedError } from '../../../core/errors.ts';
import type { DomainMember } from '../../formats/domain-records.ts';
import type { OpenRealm } from '../../domains/realm.ts';

type Records = OpenRealm['records'];

/**
 * Makes this domain a member with the first of the names that no other member has. Returns it.
 *
 * Of two domains that take the same name at a time, at least one sees the other after it has written its record. The
 * one that does gives way, because the other one may have looked before.
 * @throws RefusedError if others have all of the names
 * @throws CoordinatorError
 */
export async function registerAs(
  { records, domainId }: OpenRealm,
  names: readonly string[],
  member: Omit<DomainMember, 'name'>,
): Promise<string> {
  const own = (await records.members()).members.get(domainId);
  let version = own?.version;
  let namesake: DomainMember | undefined;
  for (const name of names) {
    namesake = await namesakeOf(records, domainId, name);
    if (namesake !== undefined) continue;
    if (!(await records.writeMember(domainId, { ...member, name }, version))) {
      throw new RefusedError('another process is joining the realm with this repository', {
        hint: 'Run the command again.',
      });
    }
    namesake = await namesakeOf(records, domainId, name);
    if (namesake === undefined) return name;
    version = await giveWay(records, domainId, own?.value);
  }
  throw new RefusedError(`the realm has a domain ${namesake!.name} already: ${namesake!.place} on ${namesake!.host}`, {
    advice: { code: 'choose-domain-name' },
  });
}

/** Puts the record back that was there before. Returns its version; undefined if there was none. */
async function giveWay(
  records: Records,
  domainId: string,
  before: DomainMember | undefined,
): Promise<number | undefined> {
  if (before === undefined) {
    await records.remove(domainId);
    return undefined;
  }
  const { members } = await records.members();
  await records.writeMember(domainId, before, members.get(domainId)?.version);
  return (await records.members()).members.get(domainId)?.version;
}

/** Another member of this name. */
async function namesakeOf(records: Records, domainId: string, name: string): Promise<DomainMember | undefined> {
  for (const [otherId, { value }] of (await records.members()).members)
    if (otherId !== domainId && value.name === name) return value;
  return undefined;
}
