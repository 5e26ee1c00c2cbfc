import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { SnapshotRow, SnapshotsAnswer } from '../../api.ts';
import { Answered, useAnswer, useRound } from '../parts/answered.tsx';
import { FreedBar } from '../parts/freed-bar.tsx';
import { When } from '../parts/when.tsx';
import { link } from '../route.ts';
import { bytes, count, countNoun, shown, time } from '../words.ts';

/** All snapshots, with filters. Ticking some says what deleting them frees. */
export function Snapshots(): VNode {
  const asked = useAnswer('snapshots', {}, useRound());
  return (
    <>
      <h1>Snapshots</h1>
      <Answered asked={asked} show={(answer: SnapshotsAnswer) => <SnapshotTable all={answer.snapshots} />} />
    </>
  );
}

interface Filter {
  readonly host: string;
  readonly tag: string;
  /** A part of a path, an id or a comment. */
  readonly words: string;
  readonly since: string;
}

const NO_FILTER: Filter = { host: '', tag: '', words: '', since: '' };

/** More make the page slow to draw. */
const ROWS_AT_ONCE = 200;

/** What was ticked when the page was left: it is there again after a look at a snapshot. */
let kept: ReadonlySet<string> = new Set();

function SnapshotTable({ all }: { all: readonly SnapshotRow[] }): VNode {
  const [filter, setFilter] = useState(NO_FILTER);
  const [shownCount, setShownCount] = useState(ROWS_AT_ONCE);
  const [wanted, setWanted] = useState(kept);
  const rows = useMemo(() => all.filter((row) => matches(row, filter)), [all, filter]);
  // Without those that another command has deleted meanwhile.
  const ticked = useMemo(() => new Set(all.map(({ id }) => id).filter((id) => wanted.has(id))), [all, wanted]);
  if (all.length === 0) return <p>There are no snapshots yet.</p>;
  const setTicked = (ids: ReadonlySet<string>): void => setWanted((kept = ids));
  const tick = (ids: readonly string[], isTicked: boolean): void => {
    const given = new Set(ids);
    setTicked(isTicked ? new Set([...ticked, ...ids]) : new Set([...ticked].filter((id) => !given.has(id))));
  };
  const shownIds = rows.map(({ id }) => id);
  const areAllTicked = rows.length > 0 && shownIds.every((id) => ticked.has(id));
  return (
    <>
      <Filters all={all} filter={filter} onChange={setFilter} />
      <p class="count" role="status">
        {countNoun(rows.length, 'snapshot')}
        {rows.length < all.length ? ` of ${count(all.length)}` : ''}
      </p>
      <div class="scroll">
        <table class="list">
          <caption class="unseen">Snapshots, the newest first</caption>
          <thead>
            <tr>
              <th scope="col">
                <input
                  type="checkbox"
                  aria-label={`Tick all ${count(rows.length)}`}
                  checked={areAllTicked}
                  onChange={() => tick(shownIds, !areAllTicked)}
                />
              </th>
              <th scope="col">Time</th>
              <th scope="col">Host</th>
              <th scope="col">Paths</th>
              <th scope="col" class="minor">
                Tags
              </th>
              <th scope="col" class="number minor">
                Files
              </th>
              <th scope="col" class="number minor">
                Size
              </th>
              <th scope="col" class="number">
                Added
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shownCount).map((row) => (
              <Row key={row.id} row={row} isTicked={ticked.has(row.id)} onTick={tick} />
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shownCount && (
        <p>
          <button type="button" onClick={() => setShownCount(shownCount + ROWS_AT_ONCE)}>
            Show older ones: {count(rows.length - shownCount)} more
          </button>
        </p>
      )}
      <FreedBar ids={[...ticked]} onClear={() => setTicked(new Set())} />
    </>
  );
}

interface RowProps {
  readonly row: SnapshotRow;
  readonly isTicked: boolean;
  readonly onTick: (ids: readonly string[], isTicked: boolean) => void;
}

function Row({ row, isTicked, onTick }: RowProps): VNode {
  const name = `${time(row.time)} on ${shown(row.host)}`;
  return (
    <tr class={isTicked ? 'ticked' : ''}>
      <td>
        <input
          type="checkbox"
          aria-label={`Tick ${name}`}
          checked={isTicked}
          onChange={() => onTick([row.id], !isTicked)}
        />
      </td>
      <th scope="row">
        <a href={link('browse', { snapshot: row.id })} title={row.id}>
          <When at={row.time} />
        </a>
      </th>
      <td>{shown(row.host)}</td>
      <td class="paths">
        {row.paths.map((path) => (
          <span key={path.key}>{shown(path.text)}</span>
        ))}
      </td>
      <td class="minor tags">
        {row.isPinned && <span class="mark">pinned</span>}
        {row.problems > 0 && <span class="mark warn">{countNoun(row.problems, 'file')} not read</span>}
        {row.tags.map((tag) => (
          <span class="mark" key={tag}>
            {shown(tag)}
          </span>
        ))}
        {row.comment === '' ? '' : <span class="comment">{shown(row.comment)}</span>}
      </td>
      <td class="number minor">{count(row.files)}</td>
      <td class="number minor">{bytes(row.bytes)}</td>
      <td class="number">{bytes(row.addedBytes)}</td>
    </tr>
  );
}

interface FiltersProps {
  readonly all: readonly SnapshotRow[];
  readonly filter: Filter;
  readonly onChange: (filter: Filter) => void;
}

function Filters({ all, filter, onChange }: FiltersProps): VNode {
  const hosts = useMemo(() => [...new Set(all.map(({ host }) => host))].sort(), [all]);
  const tags = useMemo(() => [...new Set(all.flatMap((row) => row.tags))].sort(), [all]);
  const change = (name: keyof Filter) => (event: Event) =>
    onChange({ ...filter, [name]: (event.currentTarget as HTMLInputElement).value });
  const choice = (name: 'host' | 'tag', values: readonly string[]): VNode => (
    <label>
      {name === 'host' ? 'Host' : 'Tag'}
      <select value={filter[name]} onChange={change(name)}>
        <option value="">all</option>
        {values.map((value) => (
          <option key={value} value={value}>
            {shown(value)}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <form
      class="filters"
      role="search"
      aria-label="Filter snapshots"
      onSubmit={(event: Event) => event.preventDefault()}
    >
      {choice('host', hosts)} {tags.length > 0 ? choice('tag', tags) : ''}
      <label>
        Since <input type="date" value={filter.since} onInput={change('since')} />
      </label>
      <label>
        Path, id or comment <input type="search" value={filter.words} onInput={change('words')} />
      </label>
    </form>
  );
}

function matches(row: SnapshotRow, { host, tag, words, since }: Filter): boolean {
  if ((host !== '' && row.host !== host) || (tag !== '' && !row.tags.includes(tag))) return false;
  if (since !== '' && time(row.time) < since) return false;
  const sought = words.toLowerCase();
  const texts = [row.id, row.comment, ...row.paths.map(({ text }) => text)];
  return sought === '' || texts.some((text) => text.toLowerCase().includes(sought));
}
