import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { TreeAnswer } from '../../../api/browse.ts';
import { Answered, useAnswer } from '../../parts/answered.tsx';
import { joinKeys, keysAbove } from '../../parts/path-key.ts';
import { link } from '../../route.ts';
import { count, shown } from '../../words.ts';
import type { Place } from './place.ts';

/** As the server takes them. */
const OPEN_MAX = 100;
const INDENT_PX = 14;

/** A line of the tree: a directory, or what is said instead of more of them. */
interface Line {
  readonly key: string;
  readonly text: string;
  readonly level: number;
  readonly isNote: boolean;
}

interface TreeProps {
  /** The name of the root. */
  readonly base: string;
  readonly place: Place;
}

/** The directories of a snapshot. The keys are those of the tree pattern of ARIA. */
export function Tree({ base, place: { snapshot, path } }: TreeProps): VNode {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(keysAbove(path)));
  useEffect(() => setOpen((before) => new Set([...before, ...keysAbove(path)])), [path]);
  // The way to the chosen one first, then what was opened last: a line is drawn only if those above it are known.
  const wanted = new Set(['', ...keysAbove(path).slice(0, OPEN_MAX / 2), ...[...open].reverse()]);
  const asked = useAnswer('tree', { snapshot, open: [...wanted].slice(0, OPEN_MAX).join(',') });
  const [active, setActive] = useState('');
  const toggle = (key: string): void => {
    setOpen((before) => new Set(before.has(key) ? [...before].filter((each) => each !== key) : [...before, key]));
  };
  const choose = (key: string): void => {
    location.hash = link('browse', { snapshot, path: key });
  };
  const show = (answer: TreeAnswer): VNode => {
    const lines = linesOf(answer, base, open);
    const focused = lines.some(({ key }) => key === active) ? active : '';
    const onKeyDown = (event: KeyboardEvent): void => {
      const at = lines.findIndex(({ key }) => key === focused);
      const step = stepOf(event.key, lines, at, open);
      if (step === undefined) return;
      event.preventDefault();
      if (step === 'toggle') toggle(focused);
      else if (step === 'choose') choose(focused);
      else (event.currentTarget as HTMLElement).querySelectorAll('li')[step]?.focus();
    };
    return (
      <ul role="tree" aria-label="Directories" onKeyDown={onKeyDown}>
        {lines.map((line) => {
          const { key, text, level, isNote } = line;
          const isOpen = open.has(key);
          const onClick = (event: Event): void => {
            if ((event.target as HTMLElement).className === 'marker') toggle(key);
            else choose(key);
          };
          return (
            <li
              key={key}
              role="treeitem"
              aria-level={level}
              aria-selected={key === path}
              aria-disabled={isNote ? true : undefined}
              aria-expanded={isNote ? undefined : isOpen}
              tabIndex={key === focused ? 0 : -1}
              title={text}
              style={{ paddingLeft: `${(level - 1) * INDENT_PX}px` }}
              onFocus={() => setActive(key)}
              onClick={isNote ? undefined : onClick}
            >
              <span class="marker" aria-hidden="true">
                {isNote ? '' : isOpen ? '▾' : '▸'}
              </span>
              {text}
            </li>
          );
        })}
      </ul>
    );
  };
  return (
    <div class="tree">
      <Answered asked={asked} show={show} />
    </div>
  );
}

function linesOf({ nodes }: TreeAnswer, base: string, open: ReadonlySet<string>): Line[] {
  const known = new Map(nodes.map((node) => [node.key, node]));
  const lines: Line[] = [];
  const add = (key: string, text: string, level: number): void => {
    lines.push({ key, text, level, isNote: false });
    const node = open.has(key) ? known.get(key) : undefined;
    if (node === undefined) return;
    for (const name of node.directories) add(joinKeys(key, name.key), shown(name.text), level + 1);
    const missing = node.total - node.directories.length;
    const note = node.error ?? (missing > 0 ? `${count(missing)} more, in the list` : '');
    // No key of a path has a colon.
    if (note !== '') lines.push({ key: `${key}:`, text: shown(note), level: level + 1, isNote: true });
  };
  add('', base, 1);
  return lines;
}

/** Says what a key of the keyboard does: a number is the line to go to. */
function stepOf(
  key: string,
  lines: readonly Line[],
  at: number,
  open: ReadonlySet<string>,
): number | 'toggle' | 'choose' | undefined {
  const line = lines[at]!;
  const isOpen = open.has(line.key);
  switch (key) {
    case 'ArrowDown':
      return Math.min(at + 1, lines.length - 1);
    case 'ArrowUp':
      return Math.max(at - 1, 0);
    case 'Home':
      return 0;
    case 'End':
      return lines.length - 1;
    case 'ArrowRight':
      if (line.isNote) return undefined;
      return isOpen ? ((lines[at + 1]?.level ?? 0) > line.level ? at + 1 : at) : 'toggle';
    case 'ArrowLeft':
      return isOpen ? 'toggle' : lines.findLastIndex(({ level }, index) => index < at && level < line.level);
    case 'Enter':
    case ' ':
      return line.isNote ? undefined : 'choose';
    default:
      return undefined;
  }
}
