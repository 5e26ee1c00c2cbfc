export { deleteSnapshots, undeleteSnapshots } from '../../core/removing/delete.ts';
export type { DeleteOptions, DeleteResult, FreedBytes } from '../../core/removing/delete.ts';
