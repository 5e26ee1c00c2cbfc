import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SearchAnswer, SearchRow } from '../../api/search.ts';
import { Answered, useAnswer } from '../parts/answered.tsx';
import { useSettled } from '../parts/settled.ts';
import { Table } from '../parts/table.tsx';
import { link, route } from '../route.ts';
import { bytes, count, countNoun, shown, time } from '../words.ts';

/** Finds names in all snapshots. */
export function Search(): VNode {
  const given = route.value.parameters;
  const [words, setWords] = useState(given.get('words') ?? '');
  const [isDeleted, setDeleted] = useState(given.get('deleted') === '1');
  const settled = useSettled(words.trim());
  const parameters = settled === '' ? undefined : { words: settled, deleted: isDeleted ? '1' : '' };
  const asked = useAnswer('search', parameters);
  // For the way back from a file that was found.
  useEffect(() => history.replaceState(undefined, '', link('search', parameters)), [JSON.stringify(parameters)]);
  return (
    <>
      <h1>Search</h1>
      <form class="filters" role="search" onSubmit={(event: Event) => event.preventDefault()}>
        <label class="wide">
          Name, path or pattern (* ? [a-z])
          <input
            type="search"
            value={words}
            autofocus
            onInput={(event: Event) => setWords((event.currentTarget as HTMLInputElement).value)}
          />
        </label>
        <label class="tick">
          <input type="checkbox" checked={isDeleted} onChange={() => setDeleted(!isDeleted)} />
          only what was deleted later
        </label>
      </form>
      {parameters === undefined ? (
        <p class="quiet">
          All snapshots are searched, regardless of upper and lower case. Deleted is what a later snapshot of the same
          host and paths no longer has.
        </p>
      ) : (
        <Answered
          asked={asked}
          show={(answer: SearchAnswer) => <Results answer={answer} isWaiting={asked.isWaiting} />}
        />
      )}
    </>
  );
}

function Results({ answer, isWaiting }: { answer: SearchAnswer; isWaiting: boolean }): VNode {
  const { rows } = answer;
  const hasHosts = rows.some(({ host }) => host !== rows[0]!.host);
  return (
    <>
      <p class="count" role="status">
        {isWaiting ? 'Searching…' : describe(answer)}
      </p>
      {rows.length === 0 ? (
        ''
      ) : (
        <Table
          caption="What was found, by path"
          heads={['Path', ...(hasHosts ? ['Host'] : []), '#Size', 'Newest in', '#Snapshots']}
        >
          {rows.map((row) => (
            <Found key={`${row.host} ${row.path.key}`} row={row} hasHosts={hasHosts} />
          ))}
        </Table>
      )}
    </>
  );
}

function Found({ row, hasHosts }: { row: SearchRow; hasHosts: boolean }): VNode {
  const { path, snapshot, host, isDeleted } = row;
  return (
    <tr>
      <th scope="row" class="path">
        <a href={link('browse', { snapshot, path: path.key })}>
          {shown(path.text)}
          {row.type === 'directory' ? '/' : ''}
        </a>
        {isDeleted && (
          <>
            {' '}
            <span class="mark warn">deleted</span>
          </>
        )}
      </th>
      {hasHosts ? <td>{shown(host)}</td> : ''}
      <td class="number">{row.bytes === undefined ? '' : bytes(row.bytes)}</td>
      <td class="nowrap" title={time(row.time)}>
        {time(row.time).slice(0, 10)}
      </td>
      <td class="number">{count(row.snapshots)}</td>
    </tr>
  );
}

function describe({ rows, pathCount, isCut, snapshotCount, unreadableCount }: SearchAnswer): string {
  const found = `${isCut ? 'more than ' : ''}${countNoun(pathCount, 'path')} in ${countNoun(snapshotCount, 'snapshot')}`;
  const left = rows.length < pathCount ? `; only the first ${count(rows.length)} are shown: say more of the name` : '';
  const unread = unreadableCount > 0 ? `; ${countNoun(unreadableCount, 'damaged tree')} could not be searched` : '';
  return found + left + unread;
}
