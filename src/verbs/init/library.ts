export { initRepository, initRepositoryIfMissing, repositoryExists } from '../../core/creating/init.ts';
export type { ExistingRepository, InitOutcome, InitResult } from '../../core/creating/init.ts';
export type { InitOptions } from '../../core/creating/init-options.ts';
