import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Answers } from '../../api.ts';
import { AskError, ask } from '../ask.ts';
import { shown } from '../words.ts';

/** What is known of an answer. While the next one is awaited, `value` is the last one. */
interface Asked<T> {
  readonly value?: T | undefined;
  readonly error?: AskError | undefined;
  readonly isWaiting: boolean;
}

/**
 * Asks whenever the parameters or the round change, unless there are no parameters. An answer that comes after the next
 * question is not used.
 */
export function useAnswer<Name extends keyof Answers>(
  name: Name,
  parameters: Readonly<Record<string, string>> | undefined,
  round = 0,
): Asked<Answers[Name]> {
  const [last, setLast] = useState<Last<Answers[Name]>>({});
  const key = parameters === undefined ? undefined : `${round} ${JSON.stringify(parameters)}`;
  useEffect(() => {
    if (parameters === undefined) return undefined;
    const aborted = new AbortController();
    ask(name, parameters, aborted.signal).then(
      (value) => setLast({ key, value }),
      (error: unknown) => {
        if (!aborted.signal.aborted) setLast({ key, error: asAskError(error) });
      },
    );
    return () => aborted.abort();
  }, [name, key]);
  const { value, error } = last;
  // Not to be known later than the parameters: an old answer must not be shown as that to a new question.
  return key !== undefined && last.key === key ? { value, error, isWaiting: false } : { value, isWaiting: true };
}

interface Last<T> {
  readonly key?: string | undefined;
  readonly value?: T | undefined;
  readonly error?: AskError | undefined;
}

/** A number that grows when the window gets the focus: other commands may have changed the repository meanwhile. */
export function useRound(): number {
  const [round, setRound] = useState(0);
  useEffect(() => {
    const next = (): void => setRound((before) => before + 1);
    addEventListener('focus', next);
    return () => removeEventListener('focus', next);
  }, []);
  return round;
}

/** Shows an answer, or why there is none yet. */
export function Answered<T>({ asked, show }: { asked: Asked<T>; show: (value: T) => ComponentChildren }): VNode {
  const { value, error } = asked;
  if (error !== undefined) return <Problem error={error} />;
  if (value === undefined)
    return (
      <p class="waiting" role="status">
        Reading the repository…
      </p>
    );
  return <>{show(value)}</>;
}

function Problem({ error }: { error: AskError }): VNode {
  return (
    <div class="problem" role="alert">
      <p>{shown(error.message)}</p>
      {error.hint === undefined ? '' : <p class="hint">{shown(error.hint)}</p>}
    </div>
  );
}

function asAskError(error: unknown): AskError {
  return error instanceof AskError ? error : new AskError(String(error));
}
