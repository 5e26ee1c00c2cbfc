import { UsageError } from '../../core/errors.ts';
import type { Output } from '../../console/output/output.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import { wrapText } from '../../console/output/wrapped-text.ts';
import { askText } from '../../console/password/terminal-prompt.ts';
import { interruptionSignal } from '../../console/signals.ts';

/** Talks with the user on the terminal. */
export class Desk {
  readonly #output: Output;

  constructor(output: Output) {
    this.#output = output;
  }

  say(text: string): void {
    this.#output.line(shown(text));
    this.#output.flush();
  }

  /** Says something with a command after it: in a line of its own if both do not fit into one. */
  sayWithCommand(text: string, command: string): void {
    const line = `${text}  ${command}`;
    if (wrapText(line) === line) this.say(line);
    else this.say(`${text}\n${commandLines(`  ${command}`)}`);
  }

  /** Returns a question as it is printed before its answer. */
  question(text: string): string {
    return `${shown(`${text}:`)} `;
  }

  /** `fallback`: what an empty answer means. Asks again until there is an answer. */
  async ask(question: string, fallback?: string): Promise<string> {
    const suggestion = fallback === undefined ? '' : ` [${fallback}]`;
    for (;;) {
      const answer = (await askText(this.question(`${question}${suggestion}`), interruptionSignal)).trim();
      if (answer !== '') return answer;
      if (fallback !== undefined) return fallback;
    }
  }

  /**
   * Asks until `read` accepts an answer. What is wrong with one is said.
   * @param read - throws UsageError, or any other error that `isProblem` calls a problem of the answer
   */
  async askUntil<T>(
    ask: () => Promise<string>,
    read: (answer: string) => Promise<T> | T,
    isProblem: (error: unknown) => error is Error & { readonly hint?: string | undefined } = isUsage,
  ): Promise<T> {
    for (;;) {
      const answer = await ask();
      try {
        return await read(answer);
      } catch (error) {
        interruptionSignal.throwIfAborted();
        if (!isProblem(error)) throw error;
        this.say([error.message, error.hint].filter((part) => part !== undefined).join('. '));
      }
    }
  }

  async confirm(question: string, fallback: boolean): Promise<boolean> {
    for (;;) {
      const choice = fallback ? 'Y/n' : 'y/N';
      const answer = (await askText(this.question(`${question} [${choice}]`), interruptionSignal)).trim();
      if (answer === '') return fallback;
      if (/^(y|yes|n|no)$/i.test(answer)) return /^y/i.test(answer);
    }
  }
}

/** A command in several lines where it does not fit into one. Pasted, it is one. */
export function commandLines(command: string): string {
  return wrapText(command, { indent: '    ', end: ' \\' });
}

/** Names of files may have control characters. What was wrapped already fits. */
function shown(text: string): string {
  const lines = text.split('\n').map(escapeForTerminal);
  return lines.map((line) => wrapText(line, { indent: ' '.repeat(hangingOf(line)) })).join('\n');
}

/** How far the further lines of a text are indented: below the text after `  1  ` and `done      `, and of other lines. */
function hangingOf(line: string): number {
  return /^(?: *(?:\d|done|not done) {2,}| *)/.exec(line)![0].length;
}

function isUsage(error: unknown): error is UsageError {
  return error instanceof UsageError;
}
