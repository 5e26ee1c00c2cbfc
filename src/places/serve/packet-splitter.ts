import { PACKET_BYTES_MAX } from './sftp-packets.ts';

const LENGTH_BYTES = 4;

/**
 * Finds where packets end in what a client sends. The protocol class would handle all packets of a piece at once,
 * whatever their answers take, and takes lengths from 2 GiB on for negative numbers.
 */
export class PacketSplitter {
  readonly #length = Buffer.alloc(LENGTH_BYTES);
  #lengthBytes = 0;
  /** Of the packet whose length is known. */
  #leftBytes = 0;

  /**
   * Returns where the packet that goes on at `start` ends in `bytes`; their end if it is not complete.
   * @throws Error if it has an impossible length
   */
  endOf(bytes: Buffer, start: number): number {
    let end = start;
    if (this.#leftBytes === 0) {
      end += bytes.copy(this.#length, this.#lengthBytes, start, start + LENGTH_BYTES - this.#lengthBytes);
      this.#lengthBytes += end - start;
      if (this.#lengthBytes < LENGTH_BYTES) return end;
      this.#leftBytes = this.#length.readUInt32BE();
      this.#lengthBytes = 0;
      if (this.#leftBytes === 0 || this.#leftBytes > PACKET_BYTES_MAX)
        throw new Error(`a packet of ${this.#leftBytes} bytes; it may have up to ${PACKET_BYTES_MAX}`);
    }
    const taken = Math.min(this.#leftBytes, bytes.length - end);
    this.#leftBytes -= taken;
    return end + taken;
  }
}
