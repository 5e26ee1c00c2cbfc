export interface Box<T> {
  readonly data: T;
  readonly x0: number;
  readonly x1: number;
  readonly y0: number;
  readonly y1: number;
}

interface Area {
  x0: number;
  y0: number;
  readonly x1: number;
  readonly y1: number;
}

/**
 * Divides an area among values above 0 (Bruls, Huizing and van Wijk: Squarified Treemaps, 2000): rows along the shorter
 * side of what is left, from the largest value on, each with as many boxes as make the worst one more like a square.
 * Of d3-hierarchy, only this would be used, and it would take four times the place in the page.
 */
export function squarify<T extends { readonly value: number }>(
  values: readonly T[],
  width: number,
  height: number,
): Box<T>[] {
  const sorted = values.toSorted((a, b) => b.value - a.value);
  const scale = (width * height) / sorted.reduce((sum, { value }) => sum + value, 0);
  const left: Area = { x0: 0, y0: 0, x1: width, y1: height };
  const boxes: Box<T>[] = [];
  for (let first = 0, end = 0; first < sorted.length; first = end) {
    const square = Math.min(left.x1 - left.x0, left.y1 - left.y0) ** 2;
    let area = 0;
    for (let worst = Infinity; end < sorted.length; end += 1) {
      const next = sorted[end]!.value * scale;
      const sum = (area + next) ** 2;
      const ratio = Math.max((square * sorted[first]!.value * scale) / sum, sum / (square * next));
      if (ratio > worst) break;
      worst = ratio;
      area += next;
    }
    boxes.push(...layRow(sorted.slice(first, end), left, area, scale));
  }
  return boxes;
}

/** Lays boxes beside one another along the shorter side, and takes their row away from what is left. */
function layRow<T extends { readonly value: number }>(
  row: readonly T[],
  left: Area,
  area: number,
  scale: number,
): Box<T>[] {
  const { x0, y0, x1, y1 } = left;
  const isColumn = x1 - x0 >= y1 - y0;
  const depth = area / (isColumn ? y1 - y0 : x1 - x0);
  let at = isColumn ? y0 : x0;
  if (isColumn) left.x0 += depth;
  else left.y0 += depth;
  return row.map((data) => {
    const from = at;
    at += (data.value * scale) / depth;
    return isColumn ? { data, x0, x1: x0 + depth, y0: from, y1: at } : { data, x0: from, x1: at, y0, y1: y0 + depth };
  });
}
