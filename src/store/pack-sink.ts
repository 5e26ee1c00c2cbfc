import type { BackendWriter } from '../backend/backend.ts';

/** Destination of finished packs. The repository implements it, because it controls the order of durable writes. */
export interface PackSink {
  /** Creates a new temporary file. */
  create(): Promise<PackFile>;
}

/** A pack that is being written. */
export interface PackFile {
  readonly writer: BackendWriter;
  /** Makes the file durable under its id, the hex digest of its bytes. */
  publish(id: string): Promise<void>;
  /** Removes the temporary file. */
  abort(): Promise<void>;
}
