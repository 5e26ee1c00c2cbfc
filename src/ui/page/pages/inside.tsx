import type { ComponentChildren, VNode } from 'preact';
import type { StatsAnswer } from '../../api/stats.ts';
import { Answered, useAnswer } from '../parts/answered.tsx';
import { Histogram } from '../parts/histogram.tsx';
import { bytes, count } from '../words.ts';

/** The LDM filter and the packs at work. */
export function Inside(): VNode {
  const asked = useAnswer('stats', {});
  return (
    <>
      <h1>Inside</h1>
      <p>
        To know whether a chunk of a file is stored, ldm does not search the packs. It asks the LDM filter in memory: an
        array of small counters, and chains of the chunks that are stored.
      </p>
      <Answered
        asked={asked}
        show={(stats: StatsAnswer) => (
          <>
            <Counters {...stats.filter} />
            <Chains {...stats.filter} />
            <Packs {...stats.packs} />
          </>
        )}
      />
    </>
  );
}

function Counters(filter: StatsAnswer['filter']): VNode {
  const { positions, hashes, elements, capacity, counterBits } = filter;
  const most = 2 ** counterBits - 1;
  return (
    <>
      <h2>Counters</h2>
      <dl class="facts wide">
        <Fact name="False positive rate" value={`${percent(filter.fprPredicted)} predicted, ${measured(filter)}`}>
          How often the counters say “perhaps” for a chunk that is not stored. The chain then says no, so this costs a
          moment and never a wrong answer. Measured just now with {count(filter.probeCount)} invented chunks.
        </Fact>
        <Fact name="Chunks" value={`${count(elements)} of ${count(capacity)}`} share={elements / capacity}>
          Chunks and trees in use. When the filter is full, the next backup makes a larger one, without reading a pack.
        </Fact>
        <Fact name="Counters" value={`${count(positions)} of ${counterBits} bits`}>
          Each chunk increases {hashes} of them, at places that follow from its id. If one of its counters is 0, the
          chunk is certainly not stored.
        </Fact>
        <Fact name="Fill" value={percent(filter.fillRatio)} share={filter.fillRatio}>
          The share of counters that are not 0: about a half when the filter is full and false positives are most
          frequent.
        </Fact>
        <Fact name="Saturated" value={count(filter.saturated)}>
          Counters that have reached {most}. They can no longer count, so deletes leave them as they are.
        </Fact>
        <Fact name="Memory" value={bytes(filter.memoryBytes)}>
          What a command that needs the filter loads: the counters, the chains, and where each chunk is.
        </Fact>
      </dl>
      <h3>Values of the counters</h3>
      <p class="quiet">If ids are as good as random, the values follow a formula.</p>
      <Histogram
        label="Counters by value"
        unit="Value"
        from={0}
        series={[
          { name: 'Counted', values: filter.counterHistogram },
          { name: 'By the formula', values: poisson(positions, (hashes * elements) / positions, most) },
        ]}
      />
    </>
  );
}

function Chains({ walkedChains, savedChains }: StatsAnswer['filter']): VNode {
  return (
    <>
      <h2>Chains</h2>
      <dl class="facts wide">
        <Fact
          name="Mean length"
          value={`${walkedChains.mean.toFixed(2)} as walked, ${savedChains.mean.toFixed(2)} as saved`}
        >
          When no counter of a chunk is 0, its places also say on which chain it must be. A look-up walks this one
          chain, compares the ids, and then knows for certain.
        </Fact>
        <Fact name="Visited" value={walkedChains.meanVisited.toFixed(2)}>
          How many chunks a look-up compares, on average, to find one that is stored.
        </Fact>
        <Fact name="Longest" value={`${count(walkedChains.max)} as walked, ${count(savedChains.max)} as saved`}>
          The worst case of a look-up. To save memory, two neighbouring chains are walked as one.
        </Fact>
      </dl>
      <h3>Lengths of the chains</h3>
      <Histogram
        label="Chains by length"
        unit="Length"
        from={1}
        series={[
          { name: 'As walked', values: walkedChains.histogram },
          { name: 'As saved', values: savedChains.histogram },
        ]}
      />
    </>
  );
}

function Packs(packs: StatsAnswer['packs']): VNode {
  return (
    <>
      <h2>Packs</h2>
      <dl class="facts wide">
        <Fact name="Packs" value={`${count(packs.count)}, ${bytes(packs.bytes)}`}>
          Files that hold many chunks each: {count(packs.dataCount)} with contents of files, {count(packs.treeCount)}{' '}
          with directories.
        </Fact>
        <Fact
          name="Dead space"
          value={`${bytes(packs.deadBytes)}, ${percent(packs.deadRatio)}`}
          share={packs.deadRatio}
        >
          What no snapshot needs any more. Deletes may leave up to 5 % of the packs dead, as they would have to copy
          much to return a little; <code>ldm compact</code> returns the rest.
        </Fact>
      </dl>
    </>
  );
}

interface FactProps {
  readonly name: string;
  readonly value: string;
  readonly share?: number;
  /** One sentence or two for the curious. */
  readonly children: ComponentChildren;
}

function Fact({ name, value, share, children }: FactProps): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        {share === undefined ? '' : <meter aria-label={name} value={share} max="1"></meter>}
        <p class="quiet">{children}</p>
      </dd>
    </div>
  );
}

function measured({ fprMeasured, probeCount }: StatsAnswer['filter']): string {
  return fprMeasured === 0 ? `none of ${count(probeCount)} measured` : `${percent(fprMeasured)} measured`;
}

function percent(share: number): string {
  const value = 100 * share;
  return `${value === 0 || value >= 0.1 ? value.toFixed(1) : value.toPrecision(2)} %`;
}

/** How many of `places` have 0, 1, 2, ... if `mean` of them on average fall on each at random. */
function poisson(places: number, mean: number, most: number): number[] {
  let expected = places * Math.exp(-mean);
  return Array.from({ length: most + 1 }, (_, value) => {
    const found = expected;
    expected *= mean / (value + 1);
    return found;
  });
}
