import { html } from 'htm/preact';
import type { ComponentChildren, VNode } from 'preact';

interface TableProps {
  readonly caption: string;
  /** Those above numbers begin with `#`. */
  readonly heads: readonly string[];
  readonly children?: ComponentChildren;
}

/** A table for all widths: it can be scrolled where it does not fit. */
export function Table({ caption, heads, children }: TableProps): VNode {
  return html`<div class="scroll">
    <table class="list">
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${heads.map(
            (head) =>
              html`<th key=${head} scope="col" class=${head.startsWith('#') ? 'number' : ''}>
                ${head.replace('#', '')}
              </th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${children}
      </tbody>
    </table>
  </div>`;
}
