const FLUSH_LENGTH = 32 * 1024;
/** What a stream emits when it takes more output, or will never take any. */
const DRAIN_EVENTS = ['drain', 'error', 'close'];

/** Ends a command whose output is no longer read. It is not a failure. */
export class OutputClosedError extends Error {}

interface OutputOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  /** Prints nothing at all. */
  readonly silent?: boolean | undefined;
  /** Another command follows by itself: none needs to be recommended. */
  readonly isFollowed?: boolean | undefined;
  /** Further fields of summaries in JSON. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/**
 * Writes all output of a command. Results go to stdout, as text or as one JSON object per line; everything else goes to
 * stderr. Lines for stdout are buffered, so that listing a million files does not take a million system calls.
 */
export class Output {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly isFollowed: boolean;
  /** The number of `-v` options. */
  verbosity = 0;
  readonly silent: boolean;
  readonly #labels: Readonly<Record<string, string>>;
  readonly #streams = [process.stdout, process.stderr];
  /** Node does not destroy these streams when they fail: one that was full remains full. */
  readonly #failed = new Set<NodeJS.WriteStream>();
  #pending = '';
  #hasWritten = false;
  #failure: NodeJS.ErrnoException | undefined;
  #completed: string | undefined;
  #lastFields: Readonly<Record<string, unknown>> | undefined;
  #summaryFields: () => Readonly<Record<string, unknown>> = () => ({});
  #pauseStatus: (write: () => void) => void = (write) => write();

  constructor(options: OutputOptions) {
    this.json = options.json;
    this.quiet = options.quiet;
    this.silent = options.silent === true;
    this.isFollowed = options.isFollowed === true;
    this.#labels = options.labels ?? {};
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      this.#failure ??= error;
      this.#failed.add(process.stdout);
    });
    // A failure of stderr cannot be reported anywhere.
    process.stderr.on('error', () => this.#failed.add(process.stderr));
  }

  /** Why writing to stdout failed. `EPIPE` means that the reader has closed the pipe. */
  get failure(): NodeJS.ErrnoException | undefined {
    return this.#failure;
  }

  /** A sentence that says what the command has done; undefined if not recorded. */
  get completed(): string | undefined {
    return this.#completed;
  }

  /** The fields of the last JSON object, which sums up what a command has done, whether it was printed or not. */
  get lastFields(): Readonly<Record<string, unknown>> | undefined {
    return this.#lastFields;
  }

  /** Records what the command has done. The sentence is printed on stderr if stdout fails before the report. */
  complete(sentence: string): void {
    this.#completed = sentence;
  }

  /** Prints a line of text on stdout; nothing with `--json`. */
  line(text: string): void {
    if (!this.json) this.#append(text);
  }

  /** Like `line`, but prints nothing with `--quiet`. */
  remark(text: string): void {
    if (!this.quiet) this.line(text);
  }

  /** Prints a JSON object as a line on stdout; nothing without `--json`. */
  message(type: string, fields: Readonly<Record<string, unknown>>): void {
    const more = type === 'summary' ? { ...this.#labels, ...this.#summaryFields() } : {};
    this.#lastFields = fields;
    if (this.json) this.#append(JSON.stringify({ message_type: type, ...fields, ...more }));
  }

  /** Adds these fields to the JSON object that sums up what the command has done. */
  addToSummaries(fields: () => Readonly<Record<string, unknown>>): void {
    this.#summaryFields = fields;
  }

  /** Prints a line on stderr: the text, or with `--json` an object of this type. */
  problem(text: string, type: string, fields: Readonly<Record<string, unknown>>): void {
    if (this.silent) return;
    this.flush();
    const line = this.json ? JSON.stringify({ message_type: type, ...fields }) : text;
    this.#pauseStatus(() => process.stderr.write(`${line}\n`));
  }

  /** From now on, all output is written through `pause`, which removes the status line first. */
  setStatusPause(pause: (write: () => void) => void): void {
    this.#pauseStatus = pause;
  }

  /** Writes bytes to stdout, for a command whose result is a file. */
  bytes(bytes: Uint8Array): void {
    this.flush();
    this.#write(bytes);
  }

  flush(): void {
    if (this.#pending === '') return;
    const text = this.#pending;
    this.#pending = '';
    this.#pauseStatus(() => this.#write(text));
  }

  /**
   * Returns a promise while the readers of stdout and stderr are slower than the command: wait for it, or the output
   * fills the memory. It also resolves when the signal is aborted.
   */
  caughtUp(signal: AbortSignal): Promise<void> | undefined {
    // Called for each file: `process.stdout` and a callback for each stream would take three times as long.
    for (const stream of this.#streams) {
      if (!stream.writableNeedDrain || stream.destroyed || this.#failed.has(stream)) continue;
      if (!signal.aborted) return waitFor(stream, signal);
    }
    return undefined;
  }

  /** Resolves when all output has been passed to the system. */
  async drain(): Promise<void> {
    this.flush();
    // Where nothing can be written, even an attempt to write nothing fails.
    if (this.#failure !== undefined || !this.#hasWritten) return;
    await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  }

  #write(data: string | Uint8Array): void {
    if (this.#failure !== undefined) return;
    this.#hasWritten = true;
    process.stdout.write(data);
  }

  #append(line: string): void {
    if (this.silent) return;
    this.#pending += `${line}\n`;
    if (this.#pending.length >= FLUSH_LENGTH) this.flush();
  }
}

/** Resolves when the stream takes more output, will never take any, or the signal is aborted. */
async function waitFor(stream: NodeJS.WriteStream, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      for (const event of DRAIN_EVENTS) stream.off(event, finish);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    for (const event of DRAIN_EVENTS) stream.on(event, finish);
    signal.addEventListener('abort', finish);
  });
}
