import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { GroupRow, OverviewAnswer, RunRow, RunsAnswer, StorageAnswer } from '../../api/overview.ts';
import { Answered, useAnswer } from '../parts/answered.tsx';
import { useSettled } from '../parts/settled.ts';
import { Legend, Strip } from '../parts/strip.tsx';
import type { StripDay } from '../parts/strip.tsx';
import { Table } from '../parts/table.tsx';
import { link } from '../route.ts';
import { age, bytes, countNoun, duration, percent, shortId, shown, time } from '../words.ts';

/** What is backed up since when, how safe it is, and what happened last. */
export function Overview(): VNode {
  const storage = useAnswer('storage', {});
  const runs = useAnswer('runs', {});
  return (
    <>
      <h1>Overview</h1>
      <Answered asked={storage} show={(answer: StorageAnswer) => <Facts {...answer} />} />
      <h2>Backups</h2>
      <Backups />
      <h2>Runs of profiles on this machine</h2>
      <Answered asked={runs} show={(answer: RunsAnswer) => <Runs {...answer} />} />
    </>
  );
}

function Facts(storage: StorageAnswer): VNode {
  const { freeBytes, diskBytes = 0, packBytes, verifiedBytes, oldestVerified, lastCheck } = storage;
  const errors = lastCheck?.errorCount ?? 0;
  return (
    <dl class="tiles">
      <Fact name="Repository" value={bytes(storage.bytes)} />
      {freeBytes === undefined ? (
        ''
      ) : (
        <Fact
          name="Free on its disk"
          value={bytes(freeBytes)}
          note={`${percent(freeBytes, diskBytes)} of ${bytes(diskBytes)}`}
        />
      )}
      <Fact
        name="Last check by this machine"
        value={lastCheck === undefined ? 'unknown' : time(lastCheck.time)}
        note={
          lastCheck === undefined
            ? 'run ldm check'
            : `${errors === 0 ? 'no errors' : countNoun(errors, 'error')}, ${percent(lastCheck.readShare, 1)} of the data read`
        }
        isBad={errors > 0}
      />
      <Fact
        name="Verified with --max-age"
        value={`${percent(verifiedBytes, packBytes)} of the data`}
        note={oldestVerified === undefined ? 'none yet' : `all since ${time(oldestVerified).slice(0, 10)}`}
      />
    </dl>
  );
}

interface FactProps {
  readonly name: string;
  readonly value: string;
  readonly note?: string;
  readonly isBad?: boolean;
}

function Fact({ name, value, note = '', isBad = false }: FactProps): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        {isBad ? <span class="mark warn">{note}</span> : <span class="quiet">{note}</span>}
      </dd>
    </div>
  );
}

function Backups(): VNode {
  const [hours, setHours] = useState('26');
  const asked = useAnswer('overview', { hours: useSettled(hours || '26') });
  return (
    <>
      <form class="filters" onSubmit={(event: Event) => event.preventDefault()}>
        <label>
          Overdue after hours
          <input
            type="number"
            min="1"
            max="99999"
            value={hours}
            onInput={(event: Event) => setHours((event.currentTarget as HTMLInputElement).value)}
          />
        </label>
        <Legend
          marks={[
            ['full', 'saved'],
            ['flawed', 'saved, but some files could not be read'],
            ['none', 'no snapshot'],
          ]}
        />
      </form>
      <Answered
        asked={asked}
        show={({ groups, unreadableCount }: OverviewAnswer) => (
          <>
            {unreadableCount === 0 ? (
              ''
            ) : (
              <p class="warning">{countNoun(unreadableCount, 'snapshot')} cannot be read: run ldm check</p>
            )}
            {groups.length === 0 && <p>There are no snapshots yet.</p>}
            <div class="groups">
              {groups.map((group) => (
                <Group key={keyOf(group)} group={group} />
              ))}
            </div>
          </>
        )}
      />
    </>
  );
}

function Group({ group }: { group: GroupRow }): VNode {
  const { host, paths, newest, isOverdue, snapshots, days } = group;
  const name = `${shown(host)} ${paths.map(({ text }) => shown(text)).join(', ')}`;
  const marks = new Map(
    days.map(({ day, snapshots: saved, flawed }): [string, StripDay] => [
      day,
      {
        mark: flawed > 0 ? 'flawed' : 'full',
        text: `${countNoun(saved, 'snapshot')}${flawed > 0 ? `, ${flawed} with files that could not be read` : ''}`,
      },
    ]),
  );
  return (
    <section class="group" aria-label={name}>
      <h3>
        <strong>{shown(host)}</strong>
        {paths.map(({ text, key }) => (
          <span key={key}> {shown(text)}</span>
        ))}
      </h3>
      <p>
        <span class={isOverdue ? 'mark warn' : 'mark'}>{isOverdue ? 'OVERDUE' : 'ok'}</span>{' '}
        {newest === undefined ? (
          'all dated in the future'
        ) : (
          <>
            newest <a href={link('browse', { snapshot: newest.id })}>{time(newest.time)}</a>
            {` (${age(newest.time)} ago)`}
          </>
        )}
        {`, ${countNoun(snapshots, 'snapshot')}`}
      </p>
      <Strip label={`Days with snapshots of ${name}`} days={marks} />
    </section>
  );
}

function keyOf({ host, paths }: GroupRow): string {
  return [host, ...paths.map(({ key }) => key)].join(' ');
}

function Runs({ runs, problems }: RunsAnswer): VNode {
  return (
    <>
      {problems.map((problem) => (
        <p class="warning" key={problem}>
          {shown(problem)}
        </p>
      ))}
      {runs.length === 0 ? (
        <p class="quiet">None: ldm run has not been used here.</p>
      ) : (
        <Table
          caption="The last runs, the newest first"
          heads={['Start', 'Profile', 'Result', '#Duration', '#Added', 'Snapshot', 'Steps with exit codes']}
        >
          {runs.map((run) => (
            <Run key={`${run.profile} ${run.start}`} run={run} />
          ))}
        </Table>
      )}
    </>
  );
}

function Run({ run }: { run: RunRow }): VNode {
  const { start, profile, result, durationMs, addedBytes, snapshot, details } = run;
  return (
    <tr>
      <th scope="row" class="nowrap">
        {time(start)}
      </th>
      <td>{shown(profile)}</td>
      <td>
        <span class={result === 'success' || result === 'running' ? 'mark' : 'mark warn'}>{result}</span>
      </td>
      <td class="number">{durationMs === undefined ? '' : duration(durationMs)}</td>
      <td class="number">{addedBytes === undefined ? '' : bytes(addedBytes)}</td>
      <td>{snapshot === undefined ? '' : shortId(snapshot)}</td>
      <td class="details">{shown(details)}</td>
    </tr>
  );
}
