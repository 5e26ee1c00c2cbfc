import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { RetainedRow, RetentionAnswer, RetentionGroup } from '../../api/retention.ts';
import { Answered, useAnswer } from '../parts/answered.tsx';
import { CommandLine } from '../parts/command-line.tsx';
import { useSettled } from '../parts/settled.ts';
import { Legend, Strip } from '../parts/strip.tsx';
import type { StripDay } from '../parts/strip.tsx';
import { Table } from '../parts/table.tsx';
import { link, route } from '../route.ts';
import { bytes, countNoun, quote, shown, time } from '../words.ts';

/** By the names of the options of `ldm forget`. */
type Rules = Readonly<Record<string, string>>;

/** How far the sliders go. One step further is `unlimited`. */
const COUNTS: Readonly<Record<string, number>> = {
  'keep-last': 30,
  'keep-hourly': 48,
  'keep-daily': 60,
  'keep-weekly': 26,
  'keep-monthly': 36,
  'keep-yearly': 20,
};
const OTHERS = ['keep-within', 'keep-size'];
const GROUPINGS = ['host,paths', 'host', 'host,tags', 'host,paths,tags', 'paths', 'tags', ''];
const NAMES: ReadonlySet<string> = new Set([...Object.keys(COUNTS), ...OTHERS, 'group-by']);
const START: Rules = { 'keep-daily': '7', 'keep-weekly': '5', 'keep-monthly': '12' };

/** What rules would keep and free. */
export function Retention(): VNode {
  const given = Object.fromEntries([...route.value.parameters].filter(([name]) => NAMES.has(name)));
  const [rules, setRules] = useState<Rules>(Object.keys(given).length > 0 ? given : START);
  const used = Object.fromEntries(
    Object.entries(rules).filter(([name, value]) =>
      name === 'group-by' ? value !== GROUPINGS[0] : value !== '' && value !== '0',
    ),
  );
  const settled = useSettled(used);
  const hasRule = Object.keys(settled).some((name) => name !== 'group-by');
  const asked = useAnswer('retention', hasRule ? settled : undefined);
  useEffect(() => history.replaceState(undefined, '', link('retention', settled)), [JSON.stringify(settled)]);
  const change = (name: string) => (event: Event) =>
    setRules({ ...rules, [name]: (event.currentTarget as HTMLInputElement).value });
  return (
    <>
      <h1>Retention</h1>
      <form class="filters rules" aria-label="Rules" onSubmit={(event: Event) => event.preventDefault()}>
        {Object.entries(COUNTS).map(([name, most]) => (
          <Count key={name} name={name} most={most} value={rules[name] ?? ''} rules={rules} onChange={setRules} />
        ))}
        {OTHERS.map((name) => (
          <label key={name}>
            {name}
            <input
              placeholder={name === 'keep-size' ? '500GiB' : '1y6m, 30d, 12h'}
              value={rules[name] ?? ''}
              onInput={change(name)}
            />
          </label>
        ))}
        <label>
          group-by
          <select value={rules['group-by'] ?? GROUPINGS[0]} onChange={change('group-by')}>
            {GROUPINGS.map((value) => (
              <option key={value} value={value}>
                {value || 'one group'}
              </option>
            ))}
          </select>
        </label>
      </form>
      {hasRule ? (
        <>
          <Commands rules={settled} />
          <Answered
            asked={asked}
            show={(answer: RetentionAnswer) => <Outcome answer={answer} isWaiting={asked.isWaiting} />}
          />
        </>
      ) : (
        <p class="quiet">Without a rule, nothing would be deleted.</p>
      )}
    </>
  );
}

interface CountProps {
  readonly name: string;
  readonly most: number;
  readonly value: string;
  readonly rules: Rules;
  readonly onChange: (rules: Rules) => void;
}

function Count({ name, most, value, rules, onChange }: CountProps): VNode {
  const set = (text: string): void => onChange({ ...rules, [name]: text });
  const typed = (event: Event): string => (event.currentTarget as HTMLInputElement).value;
  return (
    <div class="rule">
      <label>
        {name}
        <input size={9} placeholder="0" value={value} onInput={(event: Event) => set(typed(event))} />
      </label>
      <input
        type="range"
        aria-label={`${name}, up to unlimited`}
        aria-valuetext={value || '0'}
        min="0"
        max={most + 1}
        value={value === 'unlimited' ? most + 1 : Math.min(most, Number(value) || 0)}
        onInput={(event: Event) => set(Number(typed(event)) > most ? 'unlimited' : typed(event))}
      />
    </div>
  );
}

function Commands({ rules }: { rules: Rules }): VNode {
  const command = useAnswer('repository', {}).value?.command ?? 'ldm';
  const options = Object.entries(rules);
  const [, profile = 'NAME'] = /^ldm -p (.+)$/.exec(command) ?? [];
  const lines = options.map(
    ([name, value]) => `${name} = ${name in COUNTS && /^\d+$/.test(value) ? value : JSON.stringify(value)}`,
  );
  return (
    <details class="commands">
      <summary>Command line and profile</summary>
      <CommandLine
        label="Command line"
        command={[
          command,
          'forget',
          ...options.map(([name, value]) => `--${name} ${value === '' ? "''" : quote(value)}`),
        ].join(' ')}
      />
      <CommandLine label="Profile" command={[`[profiles.${profile}.forget]`, ...lines].join('\n')} />
    </details>
  );
}

function Outcome({ answer, isWaiting }: { answer: RetentionAnswer; isWaiting: boolean }): VNode {
  const { groups, staying, going, storedBytes, rawBytes, size } = answer;
  return (
    <>
      <p role="status" class="outcome">
        {isWaiting ? (
          'Applying the rules…'
        ) : (
          <>
            <strong>
              {countNoun(going, 'snapshot')} would go, {staying} stay.{' '}
            </strong>
            {`That frees `}
            <strong>{bytes(storedBytes)}</strong>
            {` (${bytes(rawBytes)} before compression).`}
            {size === undefined
              ? ''
              : ` The repository has ${bytes(size.beforeBytes)}, and then ${bytes(size.expectedBytes)}.`}
          </>
        )}
      </p>
      <Legend
        marks={[
          ['full', 'a snapshot stays'],
          ['gone', 'all snapshots go'],
          ['none', 'no snapshot'],
        ]}
      />
      <div class="groups">
        {groups.map((group) => (
          <Group key={group.name} group={group} />
        ))}
      </div>
    </>
  );
}

function Group({ group: { name, snapshots } }: { group: RetentionGroup }): VNode {
  const [isOpen, setOpen] = useState(false);
  const going = snapshots.filter(({ stays }) => !stays).length;
  const summary = `${countNoun(snapshots.length, 'snapshot')}: ${going} would go`;
  return (
    <section class="group" aria-label={shown(name)}>
      <h2>{shown(name)}</h2>
      <Strip label={`What stays of ${shown(name)}`} days={daysOf(snapshots)} />
      <details onToggle={(event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
        <summary>{summary}</summary>
        {isOpen && (
          <Table caption={`Snapshots of ${shown(name)}`} heads={['Time', 'Result', '#Only here', 'Tags', 'Reasons']}>
            {snapshots.map((row) => (
              <Row key={row.id} row={row} />
            ))}
          </Table>
        )}
      </details>
    </section>
  );
}

function Row({ row }: { row: RetainedRow }): VNode {
  return (
    <tr>
      <th scope="row" class="nowrap">
        <a href={link('browse', { snapshot: row.id })}>{time(row.time)}</a>
      </th>
      <td>
        <span class={row.stays ? 'mark' : 'mark warn'}>{row.stays ? 'stays' : 'goes'}</span>
      </td>
      <td class="number">{bytes(row.onlyHereBytes)}</td>
      <td>
        {row.tags.map((tag) => (
          <span class="mark" key={tag}>
            {shown(tag)}
          </span>
        ))}
      </td>
      <td>{shown(row.reasons.join(', '))}</td>
    </tr>
  );
}

function daysOf(snapshots: readonly RetainedRow[]): Map<string, StripDay> {
  const days = new Map<string, { staying: number; going: number }>();
  for (const { day, stays } of snapshots) {
    const { staying, going } = days.get(day) ?? { staying: 0, going: 0 };
    days.set(day, stays ? { staying: staying + 1, going } : { staying, going: going + 1 });
  }
  return new Map(
    [...days].map(([day, { staying, going }]) => [
      day,
      {
        mark: staying > 0 ? 'full' : 'gone',
        text: [...(staying > 0 ? [`${staying} stay`] : []), ...(going > 0 ? [`${going} would go`] : [])].join(', '),
      },
    ]),
  );
}
