import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { TimelineAnswer } from '../../../api/browse.ts';
import { link } from '../../route.ts';
import { count, shortId, shown, time } from '../../words.ts';
import type { Place } from './place.ts';

interface TimelineProps {
  readonly timeline: TimelineAnswer;
  readonly place: Place;
}

/** Goes to another snapshot of the same host and paths, and stays at the path. */
export function Timeline({ timeline: { host, snapshots }, place: { snapshot, path } }: TimelineProps): VNode | null {
  const chosen = snapshots.findIndex(({ id }) => id === snapshot);
  const [moved, setMoved] = useState(chosen);
  useEffect(() => setMoved(chosen), [chosen]);
  const shownAt = snapshots[moved] ?? snapshots[chosen];
  if (shownAt === undefined) return null;
  const go = (index: number): void => {
    const next = snapshots[index];
    if (next !== undefined) location.replace(link('browse', { snapshot: next.id, path }));
  };
  const numberOf = (event: Event): number => Number((event.currentTarget as HTMLInputElement).value);
  const text = `${time(shownAt.time)}, ${count(moved + 1)} of ${count(snapshots.length)}`;
  return (
    <div class="timeline" role="group" aria-label={`Snapshots of ${shown(host)}`}>
      <button type="button" disabled={chosen <= 0} onClick={() => go(chosen - 1)}>
        Earlier
      </button>
      <input
        type="range"
        aria-label="Snapshot"
        aria-valuetext={text}
        min="0"
        max={snapshots.length - 1}
        value={moved}
        disabled={snapshots.length === 1}
        onInput={(event: Event) => setMoved(numberOf(event))}
        onChange={(event: Event) => go(numberOf(event))}
      />
      <button type="button" disabled={chosen >= snapshots.length - 1} onClick={() => go(chosen + 1)}>
        Later
      </button>
      <output>
        {text}{' '}
        <span class="quiet">
          on {shown(host)}, {shortId(shownAt.id)}
        </span>
      </output>
    </div>
  );
}
