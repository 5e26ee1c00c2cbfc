export { compact } from '../../core/removing/compact.ts';
export type { CompactOptions, CompactResult } from '../../core/removing/compact.ts';
