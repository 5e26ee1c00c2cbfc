import type { VNode } from 'preact';
import type { FreedAnswer } from '../../api.ts';
import { bytes, countNoun, idKey, shortId } from '../words.ts';
import { Answered, useAnswer } from './answered.tsx';
import { CommandLine } from './command-line.tsx';

/** A longer command is too long to be read before it is run. */
const IDS_SHOWN_MAX = 50;

interface FreedBarProps {
  readonly ids: readonly string[];
  readonly onClear: () => void;
}

/** Says exactly what deleting the ticked snapshots frees, and how. */
export function FreedBar({ ids, onClear }: FreedBarProps): VNode | null {
  const asked = useAnswer('freed', ids.length === 0 ? undefined : { ids: ids.map(idKey).join(',') });
  const repository = useAnswer('repository', {});
  if (ids.length === 0) return null;
  const command = repository.value?.command ?? 'ldm';
  return (
    <section class="bar" aria-label="Ticked snapshots">
      <p role="status">
        <strong>{countNoun(ids.length, 'snapshot')} ticked. </strong>
        <Answered
          // The figure belongs to the snapshots that are ticked now, and to no others.
          asked={asked.isWaiting ? { isWaiting: true } : asked}
          show={({ storedBytes, rawBytes }: FreedAnswer) => (
            <span>
              Deleting {ids.length === 1 ? 'it' : 'them'} frees <strong>{bytes(storedBytes)}</strong>
              <span class="quiet"> ({bytes(rawBytes)} before compression)</span>
            </span>
          )}
        />
      </p>
      {ids.length > IDS_SHOWN_MAX ? (
        ''
      ) : (
        <CommandLine label="Delete them" command={`${command} delete ${ids.map(shortId).join(' ')}`} />
      )}
      <button type="button" onClick={onClear}>
        Untick all
      </button>
    </section>
  );
}
