import type { VNode } from 'preact';
import { time } from '../words.ts';

/** A time in a narrow column: it may be broken after the date, but not in it. */
export function When({ at }: { at: string }): VNode {
  const [day, clock] = time(at).split(' ');
  return (
    <>
      <span class="nowrap">{day}</span> {clock}
    </>
  );
}
