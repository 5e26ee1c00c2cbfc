import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { DirectoryAnswer, EntryRow } from '../../../api/browse.ts';
import { joinKeys } from '../../parts/path-key.ts';
import { link } from '../../route.ts';
import { bytes, count, shown, time } from '../../words.ts';
import type { Place } from './place.ts';
import { Takeaway } from './takeaway.tsx';

/** How many rows are asked for, and so are in the document. */
export const ROWS_ASKED = 200;
const ROWS_BEFORE = 80;
/** As in the style sheet. */
const ROW_PX = 30;
/** Browsers have no elements of 30 million pixels. A longer list moves faster than its scroll bar. */
const HEIGHT_MAX_PX = 8_000_000;

/** Which part of a directory is wanted. */
interface RowWindow {
  readonly from: number;
  readonly topPx: number;
  readonly move: (from: number, topPx: number) => void;
}

export function useWindow(): RowWindow {
  const [{ from, topPx }, setPart] = useState({ from: 0, topPx: 0 });
  return { from, topPx, move: (nextFrom, nextTop) => setPart({ from: nextFrom, topPx: nextTop }) };
}

interface ListingProps {
  readonly place: Place;
  readonly answer: DirectoryAnswer;
  readonly view: RowWindow;
}

/** The entries of a directory, of which only those around the visible ones are in the document. */
export function Listing({ place, answer, view }: ListingProps): VNode {
  const { total, rows, from, entry } = answer;
  const fullPx = (total + 1) * ROW_PX;
  const heightPx = Math.min(fullPx, HEIGHT_MAX_PX);
  const [factor, setFactor] = useState(1);
  const onScroll = (event: Event): void => {
    const { scrollTop, clientHeight } = event.currentTarget as HTMLElement;
    const pace = heightPx === fullPx ? 1 : (fullPx - clientHeight) / (heightPx - clientHeight);
    setFactor(pace);
    const first = Math.floor((scrollTop * pace) / ROW_PX);
    const last = Math.min(total, first + Math.ceil(clientHeight / ROW_PX));
    const isThere = first >= view.from && last <= view.from + ROWS_ASKED;
    view.move(isThere ? view.from : Math.max(0, first - ROWS_BEFORE), scrollTop);
  };
  const top = view.topPx * (1 - factor) + from * ROW_PX;
  return (
    <>
      <div class="head">
        <p class="count" role="status">
          {total === 1 ? '1 entry' : `${count(total)} entries`}
        </p>
        <Takeaway place={place} entry={entry} />
      </div>
      <div class="rows" onScroll={onScroll} tabIndex={0} role="region" aria-label="Entries">
        <div style={{ height: `${heightPx}px` }}>
          <table class="list" style={{ top: `${top}px` }} aria-rowcount={total + 1}>
            <caption class="unseen">Entries in the order of their names</caption>
            <thead>
              <tr aria-rowindex={1}>
                <th scope="col">Name</th>
                <th scope="col" class="number size">
                  Size
                </th>
                <th scope="col" class="time">
                  Modified
                </th>
                <th scope="col" class="mode">
                  Mode
                </th>
                <th scope="col" class="owner">
                  Owner
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                <Row key={row.name.key} row={row} index={from + index + 2} place={place} />
              ))}
            </tbody>
          </table>
        </div>
      </div>
    </>
  );
}

function Row({ row, index, place }: { row: EntryRow; index: number; place: Place }): VNode {
  const { snapshot, path } = place;
  const name = shown(row.name.text);
  const [day, clock] = row.time === undefined ? [] : time(row.time).split(' ');
  return (
    <tr aria-rowindex={index}>
      <th scope="row" title={name}>
        <a href={link('browse', { snapshot, path: joinKeys(path, row.name.key) })}>{name}</a>
        {endOf(row)}
      </th>
      <td class="number size">{row.bytes === undefined ? '' : bytes(row.bytes)}</td>
      <td class="time">
        {day}
        <span class="clock"> {clock}</span>
      </td>
      <td class="mode">{row.mode}</td>
      <td class="owner">{shown(row.owner ?? '')}</td>
    </tr>
  );
}

/** What shows the type of an entry after its name. */
function endOf({ type, target }: EntryRow): string {
  if (type === 'directory') return '/';
  if (type === 'symlink') return ` → ${shown(target ?? '')}`;
  return type === 'file' ? '' : ` (${type.replace('-', ' ')})`;
}
