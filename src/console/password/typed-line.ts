import { MAX_PASSWORD_BYTES } from './checked-password.ts';

/** `interrupted`: Ctrl+C. `ended`: Ctrl+D on an empty line, or the terminal is gone. */
export type TypedState = 'incomplete' | 'complete' | 'interrupted' | 'ended' | 'too-long';

const CONTROL = { interrupt: 0x03, end: 0x04, backspace: 0x08, lineFeed: 0x0a, return: 0x0d, killLine: 0x15 } as const;
const ESCAPE = 0x1b;
const DELETE = 0x7f;
const SPACE = 0x20;

/**
 * A line that is typed without being shown, on a terminal in raw mode, which edits nothing itself. Backspace takes
 * the last character away and Ctrl+U the whole line. Keys such as arrows, and other control characters, are ignored.
 */
export class TypedLine {
  readonly #bytes = Buffer.alloc(MAX_PASSWORD_BYTES);
  #length = 0;
  /** Position in an escape sequence: ESC, then `[` or `O` and parameters, up to a final byte. */
  #escape: 'none' | 'begun' | 'parameters' = 'none';

  /** Takes bytes until the line is no longer incomplete. Returns the state and how many bytes were taken. */
  take(typed: Uint8Array): { readonly state: TypedState; readonly takenCount: number } {
    for (const [index, byte] of typed.entries()) {
      const state = this.#takeByte(byte);
      if (state !== 'incomplete') return { state, takenCount: index + 1 };
    }
    return { state: 'incomplete', takenCount: typed.length };
  }

  /** Returns a copy of the line. */
  bytes(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }

  clear(): void {
    this.#bytes.fill(0);
    this.#length = 0;
  }

  #takeByte(byte: number): TypedState {
    if (byte === CONTROL.interrupt) return 'interrupted';
    if (byte === CONTROL.return || byte === CONTROL.lineFeed) return 'complete';
    if (this.#isInEscape(byte)) return 'incomplete';
    if (byte === CONTROL.end) return this.#length === 0 ? 'ended' : 'incomplete';
    if (byte === CONTROL.killLine) this.clear();
    else if (byte === CONTROL.backspace || byte === DELETE) this.#removeLast();
    else if (byte >= SPACE) {
      if (this.#length === MAX_PASSWORD_BYTES) return 'too-long';
      this.#bytes[this.#length] = byte;
      this.#length += 1;
    }
    return 'incomplete';
  }

  #isInEscape(byte: number): boolean {
    if (byte === ESCAPE) this.#escape = 'begun';
    else if (this.#escape === 'begun') this.#escape = byte === 0x5b || byte === 0x4f ? 'parameters' : 'none';
    else if (this.#escape === 'parameters') {
      // Final bytes are @ to ~.
      if (byte >= 0x40) this.#escape = 'none';
    } else return false;
    return true;
  }

  /** Removes a whole character of UTF-8: the bytes that continue it begin with the bits 10. */
  #removeLast(): void {
    let byte = 0x80;
    while (this.#length > 0 && (byte & 0xc0) === 0x80) {
      this.#length -= 1;
      byte = this.#bytes[this.#length]!;
      this.#bytes[this.#length] = 0;
    }
  }
}

/** A line that the terminal itself shows and edits. */
export class ShownLine {
  readonly #parts: Buffer[] = [];

  /** As `TypedLine` does. */
  take(typed: Uint8Array): ReturnType<TypedLine['take']> {
    const end = typed.indexOf(CONTROL.lineFeed);
    this.#parts.push(Buffer.from(end < 0 ? typed : typed.subarray(0, end)));
    return end < 0 ? { state: 'incomplete', takenCount: typed.length } : { state: 'complete', takenCount: end + 1 };
  }

  text(): string {
    return Buffer.concat(this.#parts).toString();
  }
}
