import type { ComponentChildren, VNode } from 'preact';

interface TableProps {
  readonly caption: string;
  /** Those above numbers begin with `#`. */
  readonly heads: readonly string[];
  /** Whether it may be long, and is scrolled in a box of its own. */
  readonly isLong?: boolean;
  readonly children?: ComponentChildren;
}

/** A table for all widths: it can be scrolled where it does not fit. */
export function Table({ caption, heads, isLong = false, children }: TableProps): VNode {
  const box = isLong
    ? { class: 'scroll figures', tabIndex: 0, role: 'region' as const, 'aria-label': caption }
    : { class: 'scroll' };
  return (
    <div {...box}>
      <table class="list">
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col" class={head.startsWith('#') ? 'number' : ''}>
                {head.replace('#', '')}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
