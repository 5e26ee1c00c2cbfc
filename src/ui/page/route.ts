import { useState } from 'preact/hooks';

/** Where the page is: `#/browse?snapshot=...`. Links and the buttons of the browser change it. */
interface Route {
  readonly name: string;
  readonly parameters: URLSearchParams;
}

export const route: { value: Route } = { value: currentRoute() };

let redraw: () => void = () => undefined;

addEventListener('hashchange', () => {
  route.value = currentRoute();
  redraw();
});

/** For the outermost component, which is drawn again with all of the page when the address changes. */
export function useRoute(): Route {
  const [, setDrawn] = useState(route.value);
  redraw = () => setDrawn(route.value);
  return route.value;
}

export function link(name: string, parameters: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(parameters).toString();
  return `#/${name}${query === '' ? '' : `?${query}`}`;
}

function currentRoute(): Route {
  const [name = '', query = ''] = location.hash.slice(1).split('?', 2);
  return { name: name.replace(/^\//, '') || 'snapshots', parameters: new URLSearchParams(query) };
}
