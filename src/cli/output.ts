const FLUSH_LENGTH = 32 * 1024;

/** Ends a command whose output is no longer read. Not a failure. */
export class OutputClosedError extends Error {}

export interface OutputOptions {
  readonly json: boolean;
  readonly quiet: boolean;
}

/**
 * Everything that a command prints. Results go to stdout, as text or as one JSON object per line; everything else goes
 * to stderr. Lines for stdout are gathered, so that listing a million files does not take a million system calls.
 */
export class Output {
  readonly json: boolean;
  readonly quiet: boolean;
  #pending = '';
  #failure: NodeJS.ErrnoException | undefined;
  #completed: string | undefined;
  #pauseStatus: (write: () => void) => void = (write) => write();

  constructor(options: OutputOptions) {
    this.json = options.json;
    this.quiet = options.quiet;
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      this.#failure ??= error;
    });
    // There is nowhere left to report a failure of stderr.
    process.stderr.on('error', () => {});
  }

  /** Why writing to stdout failed, if it did. `EPIPE` means that its reader has seen enough. */
  get failure(): NodeJS.ErrnoException | undefined {
    return this.#failure;
  }

  /** What the command has done, as a sentence, if it has told. */
  get completed(): string | undefined {
    return this.#completed;
  }

  /** Records what the command has done, for the message on stderr in case stdout cannot take the report. */
  complete(sentence: string): void {
    this.#completed = sentence;
  }

  /** A line of text on stdout; nothing with `--json`. */
  line(text: string): void {
    if (!this.json) this.#append(text);
  }

  /** A line of text on stdout that `--quiet` suppresses. */
  remark(text: string): void {
    if (!this.quiet) this.line(text);
  }

  /** One JSON object on a line of stdout; nothing without `--json`. */
  message(type: string, fields: Readonly<Record<string, unknown>>): void {
    if (this.json) this.#append(JSON.stringify({ message_type: type, ...fields }));
  }

  /** A line on stderr: text, or with `--json` an object of this type. */
  problem(text: string, type: string, fields: Readonly<Record<string, unknown>>): void {
    this.flush();
    const line = this.json ? JSON.stringify({ message_type: type, ...fields }) : text;
    this.#pauseStatus(() => process.stderr.write(`${line}\n`));
  }

  /** From now on everything is written through `pause`, which removes the moving status line first. */
  setStatusPause(pause: (write: () => void) => void): void {
    this.#pauseStatus = pause;
  }

  /** Bytes on stdout, for a command whose result is a file. */
  bytes(bytes: Uint8Array): void {
    this.flush();
    if (this.#failure === undefined) process.stdout.write(bytes);
  }

  flush(): void {
    if (this.#pending === '') return;
    const text = this.#pending;
    this.#pending = '';
    if (this.#failure === undefined) this.#pauseStatus(() => process.stdout.write(text));
  }

  /** Resolves when everything has been handed to the system. */
  async drain(): Promise<void> {
    this.flush();
    if (this.#failure !== undefined) return;
    await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  }

  #append(line: string): void {
    this.#pending += `${line}\n`;
    if (this.#pending.length >= FLUSH_LENGTH) this.flush();
  }
}
