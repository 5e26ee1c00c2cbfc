import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Answers } from '../../api.ts';
import { AskError, ask } from '../ask.ts';
import { shown } from '../words.ts';

/** What is known of an answer. While the next one is awaited, `value` is the last one. */
interface Asked<T> {
  readonly value?: T;
  readonly error?: AskError;
  readonly isWaiting: boolean;
}

/** Asks whenever the parameters change. An answer that comes after the next question is not used. */
export function useAnswer<Name extends keyof Answers>(
  name: Name,
  parameters: Readonly<Record<string, string>> | undefined,
): Asked<Answers[Name]> {
  const [asked, setAsked] = useState<Asked<Answers[Name]>>({ isWaiting: true });
  useEffect(() => {
    if (parameters === undefined) return undefined;
    const aborted = new AbortController();
    setAsked(({ value }) => ({ ...(value === undefined ? {} : { value }), isWaiting: true }));
    ask(name, parameters, aborted.signal).then(
      (value) => setAsked({ value, isWaiting: false }),
      (error: unknown) => {
        if (!aborted.signal.aborted) setAsked({ error: asAskError(error), isWaiting: false });
      },
    );
    return () => aborted.abort();
  }, [name, JSON.stringify(parameters)]);
  return asked;
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
