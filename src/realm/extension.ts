import type { Extension } from '../core/session/extension.ts';
import type { RealmAccess } from './domains/realm-access.ts';

/** What the engine needs of realms. Each part is loaded when it is used first. */
export const realmExtension: Extension = {
  async openBorrowed(context, repository) {
    const { BorrowedReader } = await import('./lending/borrowed-reader.ts');
    return new BorrowedReader(await accessOf(context, repository));
  },
  async afterChange(context, repository) {
    const { publishChanges } = await import('./domains/publish.ts');
    await publishChanges(context, repository);
  },
  async distrustedPacks(context, repository, opened, options) {
    const { distrustedLoans } = await import('./lending/distrusted-loans.ts');
    return await distrustedLoans(await accessOf(context, repository), opened, options);
  },
  async openLender(context, repository, named) {
    const { Lender } = await import('./lending/lender.ts');
    return await Lender.open(await accessOf(context, repository), named);
  },
  async lendersOfPacks(repository, packs, known) {
    const { lendersOfPacks } = await import('./lending/lenders-of.ts');
    return await lendersOfPacks(repository, packs, known);
  },
  async markLenders(repository, manifests) {
    const { markLenders } = await import('./lending/lenders-of.ts');
    return await markLenders(repository, manifests);
  },
  async releaseUnneeded(context, repository) {
    const { releaseUnneeded } = await import('./lending/hold-release.ts');
    await releaseUnneeded(await accessOf(context, repository));
  },
  async check(context, repository, opened, readsData) {
    const { checkMember } = await import('./lending/member-check.ts');
    return await checkMember(await accessOf(context, repository), opened, readsData);
  },
  async findMembershipDamage(repository, isFinding) {
    const { findMembershipDamage } = await import('./lending/member-check.ts');
    return await findMembershipDamage(repository, isFinding);
  },
  async findDamagedHolds(repository, opened) {
    const { findDamagedHolds } = await import('./lending/damaged-holds.ts');
    return await findDamagedHolds(repository, opened);
  },
  async findHoldProblems(repository, opened) {
    const { findHoldProblems } = await import('./lending/damaged-holds.ts');
    return await findHoldProblems(repository, opened);
  },
  async openSource(context) {
    const { openDomainSource } = await import('./lending/domain-source.ts');
    return await openDomainSource(context);
  },
  async readParameters(context, options, file) {
    const { readRealmParameters } = await import('./domains/realm-parameters.ts');
    return await readRealmParameters(context, options, file);
  },
};

async function accessOf(...given: ConstructorParameters<typeof RealmAccess>): Promise<RealmAccess> {
  const realm = await import('./domains/realm-access.ts');
  return new realm.RealmAccess(...given);
}
