import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { EntryRow, VersionRow, VersionsAnswer } from '../../../api/browse.ts';
import { Answered, useAnswer } from '../../parts/answered.tsx';
import { When } from '../../parts/when.tsx';
import { link } from '../../route.ts';
import { bytes, count, countNoun, shown, time } from '../../words.ts';
import type { Place } from './place.ts';
import { Difference } from './difference.tsx';
import { Preview } from './preview.tsx';
import { Takeaway } from './takeaway.tsx';

interface FileViewProps {
  readonly place: Place;
  readonly entry: EntryRow;
}

/** A file or other entry that is no directory: what is known of it, its content, and its versions. */
export function FileView({ place, entry }: FileViewProps): VNode {
  const [compared, setCompared] = useState<VersionRow | undefined>();
  return (
    <>
      <div class="head">
        <h2>{shown(entry.name.text)}</h2>
        <Takeaway place={place} entry={entry} />
      </div>
      <Facts entry={entry} />
      {compared === undefined ? (
        <Preview place={place} entry={entry} />
      ) : (
        <Difference place={place} before={compared} onClose={() => setCompared(undefined)} />
      )}
      <Versions place={place} onCompare={setCompared} />
    </>
  );
}

function Facts({ entry }: { entry: EntryRow }): VNode {
  const facts = {
    Type: entry.type.replace('-', ' '),
    Size: entry.bytes === undefined ? '' : sizeOf(entry.bytes),
    Modified: entry.time === undefined ? '' : time(entry.time),
    Mode: entry.mode ?? '',
    Owner: entry.owner ?? '',
    Target: entry.target ?? '',
    Note: entry.isUnstable === true ? 'The file changed while it was read.' : '',
  };
  return (
    <dl class="facts">
      {Object.entries(facts).map(([name, value]) =>
        value === '' ? (
          ''
        ) : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{shown(value)}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

interface VersionsProps {
  readonly place: Place;
  readonly onCompare: (version: VersionRow) => void;
}

function Versions({ place, onCompare }: VersionsProps): VNode {
  const asked = useAnswer('versions', { ...place });
  const show = ({ versions, total }: VersionsAnswer): VNode => (
    <>
      <div class="scroll">
        <table class="list versions">
          <caption class="unseen">Versions, the newest first</caption>
          <thead>
            <tr>
              <th scope="col">Since the snapshot of</th>
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col" class="modified">
                Modified
              </th>
              <th scope="col" class="number">
                Snapshots
              </th>
              <th scope="col">
                <span class="unseen">Compare</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {versions.map((row) => (
              <Version key={row.snapshot} row={row} place={place} onCompare={onCompare} />
            ))}
          </tbody>
        </table>
      </div>
      {total > versions.length && <p class="quiet">And {count(total - versions.length)} older ones.</p>}
    </>
  );
  return (
    <section aria-label="Versions">
      <h3>Versions</h3>
      <Answered asked={asked} show={show} />
    </section>
  );
}

function Version({ row, place, onCompare }: VersionsProps & { row: VersionRow }): VNode {
  const { entry, isShown, snapshot } = row;
  const at = time(row.time);
  const isComparable = !isShown && entry?.type === 'file';
  return (
    <tr class={isShown ? 'ticked' : ''} aria-current={isShown ? 'true' : undefined}>
      <th scope="row">
        <a href={link('browse', { snapshot, path: place.path })}>
          <When at={row.time} />
        </a>
      </th>
      <td class="number">{entry === undefined ? 'absent' : bytes(entry.bytes ?? 0)}</td>
      <td class="modified">{entry?.time === undefined ? '' : time(entry.time)}</td>
      <td class="number">{count(row.snapshots)}</td>
      <td>
        {isShown && <span class="mark">shown</span>}
        {isComparable && (
          <button type="button" aria-label={`Compare with ${at}`} onClick={() => onCompare(row)}>
            Compare
          </button>
        )}
      </td>
    </tr>
  );
}

function sizeOf(size: number): string {
  return size < 1024 ? countNoun(size, 'byte') : `${bytes(size)} (${countNoun(size, 'byte')})`;
}
