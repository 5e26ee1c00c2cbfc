import type { VNode } from 'preact';
import type { DifferenceAnswer, VersionRow } from '../../../api/browse.ts';
import { Answered, useAnswer } from '../../parts/answered.tsx';
import { shownText, time } from '../../words.ts';
import type { Place } from './place.ts';

interface DifferenceProps {
  readonly place: Place;
  readonly before: VersionRow;
  readonly onClose: () => void;
}

const KINDS: Readonly<Record<string, string>> = { '-': 'removed', '+': 'added' };

/** What changed in a text from another version to the one that is shown. */
export function Difference({ place, before, onClose }: DifferenceProps): VNode {
  const asked = useAnswer('difference', { ...place, before: before.snapshot });
  const show = ({ hunks, refusal }: DifferenceAnswer): VNode => {
    if (refusal !== undefined) return <p>{refusal}</p>;
    if (hunks.length === 0) return <p>The texts are equal.</p>;
    return (
      <pre class="text" tabIndex={0}>
        {hunks.map(({ before: from, after, lines }) => (
          <>
            <span class="line">
              Line {from}, now {after}
            </span>
            {lines.map((line) => (
              <Line line={line} />
            ))}
          </>
        ))}
      </pre>
    );
  };
  return (
    <section aria-label="Difference">
      <h3 key={before.snapshot} tabIndex={-1} ref={focus}>
        Changes from the version of {time(before.time)} to this one
      </h3>
      <Answered asked={asked} show={show} />
      <p>
        <button type="button" onClick={onClose}>
          Show the content
        </button>
      </p>
    </section>
  );
}

function focus(heading: HTMLElement | null): void {
  heading?.focus();
}

function Line({ line }: { line: string }): VNode {
  const end = line.endsWith('\n') ? '' : <em class="quiet"> without a line break at its end</em>;
  return (
    <span class={KINDS[line[0]!]}>
      {shownText(line.replace(line.startsWith(' ') ? /\r?\n$/ : /\n$/, ''))}
      {end}
    </span>
  );
}
