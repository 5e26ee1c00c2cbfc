import type { StagedFile } from '../backend/backend.ts';

/** Destination of finished packs. The repository implements it, because it controls the order of durable writes. */
export interface PackSink {
  /** Begins a new pack, to be published as `packName(id)`. */
  create(): Promise<StagedFile>;
}
