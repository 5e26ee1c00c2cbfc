import { render } from 'preact';
import type { ComponentType, VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { useAnswer, useRound } from './parts/answered.tsx';
import { Browse } from './pages/browse/browse.tsx';
import { Overview } from './pages/overview.tsx';
import { Retention } from './pages/retention.tsx';
import { Search } from './pages/search.tsx';
import { Snapshots } from './pages/snapshots.tsx';
import { Inside } from './pages/inside.tsx';
import { Space } from './pages/space.tsx';
import { link, useRoute } from './route.ts';
import { shown } from './words.ts';

interface Page {
  readonly name: string;
  readonly title: string;
  readonly component: ComponentType;
}

const PAGES: readonly Page[] = [
  { name: 'overview', title: 'Overview', component: Overview },
  { name: 'snapshots', title: 'Snapshots', component: Snapshots },
  { name: 'browse', title: 'Browse', component: Browse },
  { name: 'search', title: 'Search', component: Search },
  { name: 'space', title: 'Space', component: Space },
  { name: 'retention', title: 'Retention', component: Retention },
  { name: 'inside', title: 'Inside', component: Inside },
];

function App(): VNode {
  const { name } = useRoute();
  const page = PAGES.find((each) => each.name === name) ?? PAGES[0]!;
  const repository = useAnswer('repository', {}, useRound()).value;
  useEffect(() => {
    document.title = `${page.title} - ldm`;
  }, [page]);
  return (
    <>
      <a class="skip" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <header>
        <p class="place">{repository === undefined ? 'ldm' : shown(repository.place)}</p>
        <nav aria-label="Pages">
          {PAGES.map((each) => (
            <a key={each.name} href={link(each.name)} aria-current={each === page ? 'page' : undefined}>
              {each.title}
            </a>
          ))}
        </nav>
      </header>
      <main id="content" tabIndex={-1}>
        {repository?.warnings.map((warning) => (
          <p class="warning" key={warning}>
            {shown(warning)}
          </p>
        ))}
        <page.component />
      </main>
    </>
  );
}

/** The fragment of the address says where the page is, so a link cannot move the focus. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

render(<App />, document.getElementById('page')!);
