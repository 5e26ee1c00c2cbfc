import { UsageError } from '../../core/errors.ts';
import type { Output } from '../../console/output/output.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
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

  /** `fallback`: what an empty answer means. Asks again until there is an answer. */
  async ask(question: string, fallback?: string): Promise<string> {
    const suggestion = fallback === undefined ? '' : ` [${fallback}]`;
    for (;;) {
      const answer = (await askText(shown(`${question}${suggestion}: `), interruptionSignal)).trim();
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
      const answer = (await askText(shown(`${question} [${fallback ? 'Y/n' : 'y/N'}]: `), interruptionSignal)).trim();
      if (answer === '') return fallback;
      if (/^(y|yes|n|no)$/i.test(answer)) return /^y/i.test(answer);
    }
  }
}

/** Names of files may have control characters. */
function shown(text: string): string {
  return text.split('\n').map(escapeForTerminal).join('\n');
}

function isUsage(error: unknown): error is UsageError {
  return error instanceof UsageError;
}
