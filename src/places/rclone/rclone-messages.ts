/** How many are kept. */
const MESSAGES_MAX = 200;
const LINE_LENGTH_MAX = 1000;
/** How long to wait for the message about an answer that has arrived already. */
const WAIT_MS = 200;

/** `2026/11/24 04:20:03 ERROR : name: what has happened` */
const START = /^(?:\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d )?(?:(?<level>[A-Z]+)\s*: ?)?/;
const DETAILS: readonly (string | undefined)[] = ['DEBUG', 'INFO'];
/** Says nothing about a failure. */
const NOTICE = /^Config file ".*" not found - using defaults$/;

interface Message {
  readonly text: string;
  /** It is about each step, and not only about failures. */
  readonly isDetail: boolean;
}

/** What rclone says on stderr. Its answers do not say why something has failed. */
export class RcloneMessages {
  readonly #messages: Message[] = [];
  #rest = '';
  #waiting: (() => void)[] = [];

  add(output: string): void {
    const lines = (this.#rest + output).split('\n');
    this.#rest = lines.pop()!.slice(0, LINE_LENGTH_MAX);
    for (const line of lines) this.#addLine(line.slice(0, LINE_LENGTH_MAX));
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  /** The last message is mostly the reason why rclone has ended. */
  last(): string | undefined {
    if (this.#rest !== '') this.add('\n');
    return this.#messages.findLast(({ isDetail }) => !isDetail)?.text;
  }

  /** Returns the reason of a failure that concerns a name. It may arrive a little later than the answer. */
  async about(name: string): Promise<string | undefined> {
    const known = this.#reasonFor(name);
    if (known !== undefined) return known;
    await this.#nextLines();
    return this.#reasonFor(name);
  }

  #reasonFor(name: string): string | undefined {
    const own = this.#messages.filter(({ text }) => text.startsWith(`${name}:`));
    const best =
      // This one shows an object of rclone, and the one before it a sentence.
      own.findLast(({ text, isDetail }) => !isDetail && !text.includes(': list failed: ')) ??
      own.findLast(({ isDetail }) => !isDetail) ??
      own.findLast(({ text }) => text.includes(' error: '));
    return best?.text.slice(name.length + 1).trim();
  }

  #addLine(line: string): void {
    const text = line.replace(START, '').trim();
    if (text === '' || NOTICE.test(text)) return;
    this.#messages.push({ text, isDetail: DETAILS.includes(START.exec(line)?.groups?.['level']) });
    if (this.#messages.length > MESSAGES_MAX) this.#messages.shift();
  }

  async #nextLines(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, WAIT_MS);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
