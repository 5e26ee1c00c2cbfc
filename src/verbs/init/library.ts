export { initRepository, initRepositoryIfMissing, repositoryExists } from '../../core/creating/init.ts';
export type { ExistingRepository, InitOptions, InitOutcome, InitResult } from '../../core/creating/init.ts';
