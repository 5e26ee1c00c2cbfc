import type { VNode } from 'preact';
import { squarify } from './squarify.ts';
import type { Box } from './squarify.ts';
import { useWidth } from './width.ts';

interface Tile {
  readonly key: string;
  readonly name: string;
  /** The size in words. */
  readonly size: string;
  readonly value: number;
  /** Where a click leads; undefined if to nothing. */
  readonly link: string | undefined;
}

const HEIGHT = 420;
const GAP = 2;
/** Smaller ones have no room for a name. */
const NAMED_WIDTH = 44;
const NAMED_HEIGHT = 22;

/** Shows parts of a whole as areas. The same has to be beside it as a table. */
export function Treemap({ label, tiles }: { label: string; tiles: readonly Tile[] }): VNode {
  const { box, width } = useWidth();
  const drawn = tiles.filter(({ value }) => value > 0);
  return (
    <div class="treemap" ref={box}>
      {drawn.length === 0 && <p class="quiet">All of it has 0 B: there is nothing to draw.</p>}
      {drawn.length > 0 && width > 0 && (
        <svg role="group" aria-label={label} width={width} height={HEIGHT}>
          {squarify(drawn, width, HEIGHT).map((laid) => (
            <TileBox key={laid.data.key} {...laid} />
          ))}
        </svg>
      )}
    </div>
  );
}

/** A nested picture, which cuts off what is too long. */
function TileBox({ data, x0, x1, y0, y1 }: Box<Tile>): VNode {
  const { name, size, link } = data;
  const [left, top] = [Math.round(x0), Math.round(y0)];
  const width = Math.max(1, Math.round(x1) - left - GAP);
  const height = Math.max(1, Math.round(y1) - top - GAP);
  const box = (
    <svg x={left} y={top} width={width} height={height}>
      <title>
        {name}: {size}
      </title>
      <rect width="100%" height="100%" />
      {width < NAMED_WIDTH || height < NAMED_HEIGHT ? (
        ''
      ) : (
        <text x="6" y="17">
          {name}
        </text>
      )}
      {width < NAMED_WIDTH || height < 2 * NAMED_HEIGHT ? (
        ''
      ) : (
        <text x="6" y="35" class="quiet">
          {size}
        </text>
      )}
    </svg>
  );
  if (link === undefined) return <g>{box}</g>;
  return (
    <a href={link} aria-label={`${name}: ${size}`}>
      {box}
    </a>
  );
}
