import type { BackendWriter } from '../backend/backend.ts';

/** Where finished packs go. The repository gives it, since the order of durable writes is its business. */
export interface PackSink {
  /** A new temporary file. */
  create(): Promise<PackFile>;
}

/** A pack while it is written. */
export interface PackFile {
  readonly writer: BackendWriter;
  /** Makes the file durable under its id (the hex digest of its bytes). */
  publish(id: string): Promise<void>;
  /** Removes the temporary file. */
  abort(): Promise<void>;
}
