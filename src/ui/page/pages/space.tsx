import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { SnapshotRow, SnapshotsAnswer } from '../../api.ts';
import type { GrowthAnswer, SpaceAnswer, SpacePart, SpaceSizes } from '../../api/space.ts';
import type { StatsAnswer } from '../../api/stats.ts';
import { Answered, useAnswer } from '../parts/answered.tsx';
import { Growth } from '../parts/growth.tsx';
import { SnapshotSet } from '../parts/snapshot-set.tsx';
import { Table } from '../parts/table.tsx';
import { Treemap } from '../parts/treemap.tsx';
import { link, route } from '../route.ts';
import { bytes, shown } from '../words.ts';

/** What takes the space: of some snapshots by directory, and of all of them over time. */
export function Space(): VNode {
  const snapshots = useAnswer('snapshots', {});
  const stats = useAnswer('stats', {});
  const growth = useAnswer('growth', {});
  return (
    <>
      <h1>Space</h1>
      <Answered
        asked={snapshots}
        show={(answer: SnapshotsAnswer) =>
          answer.snapshots.length === 0 ? <p>There are no snapshots yet.</p> : <Places all={answer.snapshots} />
        }
      />
      <h2>All snapshots over time</h2>
      <Answered asked={stats} show={(answer: StatsAnswer) => <Ratios stats={answer} />} />
      <p class="quiet">
        What a snapshot added is what no older one has. What a deleted snapshot added counts for the oldest one that
        needs it.
      </p>
      <Answered asked={growth} show={(answer: GrowthAnswer) => <Growth answer={answer} />} />
    </>
  );
}

const MEASURES: readonly { readonly name: keyof SpaceSizes; readonly title: string; readonly sentence: string }[] = [
  {
    name: 'apparentBytes',
    title: 'Apparent',
    sentence: 'The size of the files, in each of the snapshots, as a restore would write them.',
  },
  {
    name: 'storedBytes',
    title: 'Stored',
    sentence: 'The compressed size of the chunks. What several directories share is counted in each of them.',
  },
  {
    name: 'onlyHereBytes',
    title: 'Only here',
    sentence:
      'What nothing else needs: without this, it would be freed. What several directories share counts for the one above them.',
  },
];

function Places({ all }: { all: readonly SnapshotRow[] }): VNode {
  const { parameters } = route.value;
  const ids = parameters.get('ids') ?? all[0]!.id;
  const by = parameters.get('by') ?? 'apparentBytes';
  const path = parameters.get('path') ?? '';
  const asked = useAnswer('space', { ids, path });
  const measure = MEASURES.find(({ name }) => name === by) ?? MEASURES[0]!;
  const linkTo = (changes: Readonly<Record<string, string>>): string => link('space', { ids, path, by, ...changes });
  const go = (changes: Readonly<Record<string, string>>): void => location.assign(linkTo(changes));
  return (
    <>
      <SnapshotSet all={all} ids={ids.split(',')} onChange={(next: string) => go({ ids: next, path: '' })} />
      <fieldset class="choices">
        <legend>Measure</legend>
        {MEASURES.map(({ name, title }) => (
          <label key={name}>
            <input type="radio" name="measure" checked={measure.name === name} onChange={() => go({ by: name })} />
            {title}
          </label>
        ))}
      </fieldset>
      <p class="quiet">{measure.sentence}</p>
      <Answered
        asked={asked}
        show={(answer: SpaceAnswer) => (
          <div class={asked.isWaiting ? 'outdated' : ''} aria-busy={asked.isWaiting}>
            <Place answer={answer} measure={measure.name} linkTo={linkTo} />
          </div>
        )}
      />
    </>
  );
}

interface PlaceProps {
  readonly answer: SpaceAnswer;
  readonly measure: keyof SpaceSizes;
  readonly linkTo: (changes: Readonly<Record<string, string>>) => string;
}

function Place({ answer: { crumbs, parts, total }, measure, linkTo }: PlaceProps): VNode {
  const sorted = useMemo(() => parts.toSorted((one, other) => other[measure] - one[measure]), [parts, measure]);
  const here = crumbs.at(-1)!;
  const rows = sorted.map((part) => ({
    part,
    key: `${part.path.key}${part.isFile}`,
    name: `${nameOf(part.path.text)}${part.isFile ? '' : '/'}`,
    link: part.isFile ? undefined : linkTo({ path: part.path.key }),
  }));
  const rest = Math.max(0, total[measure] - sorted.reduce((sum, part) => sum + part[measure], 0));
  const tiles = rows.map(({ part, ...row }) => ({ ...row, size: bytes(part[measure]), value: part[measure] }));
  const restTile = { key: '', name: restName(measure), size: bytes(rest), value: rest, link: undefined };
  return (
    <>
      <nav class="crumbs" aria-label="Directories above">
        {crumbs.map(({ text, key }, index) =>
          key === here.key ? (
            <span key={key} aria-current="location">
              {index === 0 ? shown(text) : nameOf(text)}
            </span>
          ) : (
            <a key={key} href={linkTo({ path: index === 0 ? '' : key })}>
              {index === 0 ? shown(text) : nameOf(text)}
            </a>
          ),
        )}
      </nav>
      <div class="beside">
        <Treemap label={`${shown(here.text)}: ${bytes(total[measure])}`} tiles={[...tiles, restTile]} />
        <Table
          caption={`${shown(here.text)}, the largest first`}
          heads={['Name', ...MEASURES.map(({ title }) => `#${title}`)]}
          isLong
        >
          <SizeRow name="Total" sizes={total} />
          {rows.map((row) => (
            <SizeRow {...row} sizes={row.part} />
          ))}
        </Table>
      </div>
    </>
  );
}

function SizeRow({
  name,
  link: to,
  sizes,
}: {
  name: string;
  link?: string | undefined;
  sizes: SpaceSizes | SpacePart;
}): VNode {
  return (
    <tr>
      <th scope="row">{to === undefined ? name : <a href={to}>{name}</a>}</th>
      {MEASURES.map((each) => (
        <td key={each.name} class="number">
          {bytes(sizes[each.name])}
        </td>
      ))}
    </tr>
  );
}

function restName(measure: keyof SpaceSizes): string {
  return measure === 'onlyHereBytes' ? 'shared by these, and small files' : 'small files';
}

function nameOf(path: string): string {
  return shown(path.slice(path.lastIndexOf('/') + 1));
}

function Ratios({ stats }: { stats: StatsAnswer }): VNode {
  const rows: readonly (readonly [string, string, string])[] = [
    ['Files of all snapshots', bytes(stats.logicalBytes), 'as restores would write them'],
    ['Different chunks', bytes(stats.uniqueBytes), `deduplication ${stats.dedupRatio.toFixed(2)} to 1`],
    ['Stored', bytes(stats.storedBytes), `with directories, compression ${stats.compressionRatio.toFixed(2)} to 1`],
  ];
  return (
    <dl class="facts">
      {rows.map(([name, value, more]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <strong>{value}</strong> <span class="quiet">{more}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
