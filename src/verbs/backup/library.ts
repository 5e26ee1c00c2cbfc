export { backup } from './backup.ts';
export type { BackupOptions, Continued, SkippedRepository, SourceProblem, StreamedFile } from './backup.ts';
export { chooseRepository } from './choose-repository.ts';
export type { AskedRepository, RepositoryChoice, RepositoryPolicy } from './choose-repository.ts';
export type { BackupResult } from '../../core/saving/backup-result.ts';
