import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { SnapshotRow } from '../../api.ts';
import { bytes, countNoun, idKey, shown, time } from '../words.ts';

interface SnapshotSetProps {
  /** The newest first. */
  readonly all: readonly SnapshotRow[];
  readonly ids: readonly string[];
  readonly onChange: (ids: string) => void;
}

/** Chooses snapshots of one host and the same paths. */
export function SnapshotSet({ all, ids, onChange }: SnapshotSetProps): VNode {
  const groups = useMemo(() => grouped(all), [all]);
  const ticked = new Set(ids.map(idKey));
  const first = all.find(({ id }) => ticked.has(idKey(id))) ?? all[0]!;
  const group = groups.get(groupOf(first))!;
  const choose = (rows: readonly SnapshotRow[]): void => onChange(rows.map(({ id }) => idKey(id)).join(','));
  const tick = ({ id }: SnapshotRow): void => {
    const next = group.filter((row) => (row.id === id ? !ticked.has(idKey(id)) : ticked.has(idKey(row.id))));
    if (next.length > 0) choose(next);
  };
  return (
    <>
      <div class="filters">
        <label>
          Host and paths
          <select
            value={groupOf(first)}
            onChange={(event: Event) =>
              choose(groups.get((event.currentTarget as HTMLSelectElement).value)!.slice(0, 1))
            }
          >
            {[...groups].map(([key, [row]]) => (
              <option key={key} value={key}>
                {shown(row!.host)}: {row!.paths.map(({ text }) => shown(text)).join(', ')}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={() => choose(group.slice(0, 1))}>
          Newest
        </button>
        {group.length > 1 && (
          <button type="button" onClick={() => choose(group)}>
            All {countNoun(group.length, 'snapshot')}
          </button>
        )}
      </div>
      <details>
        <summary>
          {ids.length === 1 ? `Snapshot of ${time(first.time)}` : `${countNoun(ids.length, 'snapshot')} as one`}
        </summary>
        <ul class="ticks">
          {group.map((row) => (
            <li key={row.id}>
              <label>
                <input type="checkbox" checked={ticked.has(idKey(row.id))} onChange={() => tick(row)} />
                {time(row.time)}, {bytes(row.bytes)}
              </label>
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

function groupOf({ host, paths }: SnapshotRow): string {
  return JSON.stringify([host, ...paths.map(({ key }) => key)]);
}

function grouped(all: readonly SnapshotRow[]): Map<string, SnapshotRow[]> {
  const groups = new Map<string, SnapshotRow[]>();
  for (const row of all) {
    const name = groupOf(row);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name)!.push(row);
  }
  return groups;
}
