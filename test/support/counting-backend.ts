import { FaultyBackend } from './faulty-backend.ts';

/** Counts the bytes that are read of each file. */
export class CountingBackend extends FaultyBackend {
  readonly bytesRead: Map<string, number> = new Map();
  readonly #ranges: { readonly name: string; readonly start: number; readonly end: number }[] = [];

  override async read(name: string): Promise<Buffer> {
    const bytes = await super.read(name);
    this.#count(name, 0, bytes.length);
    return bytes;
  }

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    await super.readRange(name, offset, target);
    this.#count(name, offset, target.length);
  }

  /** Returns how often a part of a file was read as a whole. */
  readsOf(name: string, start: number, end: number): number {
    return this.#ranges.filter((range) => range.name === name && range.start <= start && range.end >= end).length;
  }

  /** Returns how many reads of a file began at an offset. */
  readsAt(name: string, offset: number): number {
    return this.#ranges.filter((range) => range.name === name && range.start === offset).length;
  }

  /** Returns the bytes read in a directory. */
  bytesReadIn(directory: string): number {
    const files = [...this.bytesRead].filter(([name]) => name.startsWith(`${directory}/`));
    return files.reduce((total, [, sizeBytes]) => total + sizeBytes, 0);
  }

  #count(name: string, offset: number, sizeBytes: number): void {
    this.bytesRead.set(name, (this.bytesRead.get(name) ?? 0) + sizeBytes);
    this.#ranges.push({ name, start: offset, end: offset + sizeBytes });
  }
}
