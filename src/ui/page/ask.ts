import type { Answers, FailureAnswer } from '../api.ts';

/** From the address that the command printed. A tab that is opened again has it in the storage of its session. */
const token = readToken();

/** An answer that says why there is none. */
export class AskError extends Error {
  override readonly name = 'AskError';
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** Asks the server. */
export async function ask<Name extends keyof Answers>(
  name: Name,
  parameters: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Answers[Name]> {
  const query = new URLSearchParams(parameters).toString();
  const init: RequestInit = { headers: { authorization: `Bearer ${token}` } };
  if (signal !== undefined) init.signal = signal;
  const response = await fetch(`/api/${name}${query === '' ? '' : `?${query}`}`, init).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new AskError(
      'ldm does not answer any more.',
      'The command has ended. Start it again and open the new address.',
    );
  });
  const answer: unknown = await response.json();
  if (response.ok) return answer as Answers[Name];
  const { error, hint } = answer as FailureAnswer;
  throw new AskError(error, hint);
}

function readToken(): string {
  const fragment = location.hash.slice(1);
  // Routes begin with a slash.
  if (fragment !== '' && !fragment.startsWith('/')) {
    sessionStorage.setItem('token', fragment);
    history.replaceState(undefined, '', '#/');
  }
  return sessionStorage.getItem('token') ?? '';
}
