import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { DirectoryAnswer, TimelineAnswer } from '../../../api/browse.ts';
import { Answered, useAnswer } from '../../parts/answered.tsx';
import { bytesOfKey, keyInside, keysAbove, textOfBytes } from '../../parts/path-key.ts';
import { link, route } from '../../route.ts';
import { shown } from '../../words.ts';
import { FileView } from './file-view.tsx';
import { Listing, ROWS_ASKED, useWindow } from './listing.tsx';
import type { Place } from './place.ts';
import { Timeline } from './timeline.tsx';
import { Tree } from './tree.tsx';

/** Whether a place was shown before. The first one must not take the focus: the keyboard begins at the top of the page. */
let hasMoved = false;

/** The directories and files of a snapshot, and of those before and after it. */
export function Browse(): VNode {
  const { parameters } = route.value;
  const snapshot = parameters.get('snapshot');
  const asked = useAnswer('timeline', snapshot === null ? {} : { snapshot });
  const show = (timeline: TimelineAnswer): VNode => {
    if (timeline.id === '') return <p>There are no snapshots yet.</p>;
    const path = keyInside(parameters.get('path') ?? '', timeline.base.key);
    return <Explorer timeline={timeline} snapshot={snapshot ?? timeline.id} path={path} />;
  };
  return (
    <>
      <h1>Browse</h1>
      <Answered asked={asked} show={show} />
    </>
  );
}

function Explorer({ timeline, ...place }: Place & { timeline: TimelineAnswer }): VNode {
  const base = shown(timeline.base.text);
  return (
    <>
      <Timeline timeline={timeline} place={place} />
      <Crumbs base={base} place={place} />
      <div class="explorer">
        <Tree key={timeline.base.key} base={base} place={place} />
        <Chosen key={place.path} place={place} />
      </div>
    </>
  );
}

function Crumbs({ base, place: { snapshot, path } }: { base: string; place: Place }): VNode {
  const keys = keysAbove(path);
  return (
    <nav class="crumbs" aria-label="Path">
      <ol class={base === '/' ? 'of-root' : ''}>
        {keys.map((key) => (
          <li key={key}>
            <a href={link('browse', { snapshot, path: key })} aria-current={key === path ? 'page' : undefined}>
              {key === '' ? base : shown(textOfBytes(bytesOfKey(key).split('/').at(-1)!))}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** The directory or file at a place. A link in it leads to another one, which then has the focus. */
function Chosen({ place }: { place: Place }): VNode {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    if (hasMoved && document.activeElement === document.body) box.current!.focus();
    hasMoved = true;
  }, []);
  const view = useWindow();
  const { snapshot, path } = place;
  const asked = useAnswer('directory', { snapshot, path, from: `${view.from}`, limit: `${ROWS_ASKED}` });
  const show = (answer: DirectoryAnswer): VNode =>
    answer.entry.type === 'directory' ? (
      <Listing place={place} answer={answer} view={view} />
    ) : (
      <FileView place={place} entry={answer.entry} />
    );
  return (
    <section class="chosen" aria-label="Contents" tabIndex={-1} ref={box}>
      <Answered asked={asked} show={show} />
    </section>
  );
}
