import { signal } from '@preact/signals';

/** Where the page is: `#/browse?snapshot=...`. Links and the buttons of the browser change it. */
interface Route {
  readonly name: string;
  readonly parameters: URLSearchParams;
}

export const route = signal<Route>(currentRoute());

addEventListener('hashchange', () => {
  route.value = currentRoute();
});

export function link(name: string, parameters: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(parameters).toString();
  return `#/${name}${query === '' ? '' : `?${query}`}`;
}

function currentRoute(): Route {
  const [name = '', query = ''] = location.hash.slice(1).split('?', 2);
  return { name: name.replace(/^\//, '') || 'snapshots', parameters: new URLSearchParams(query) };
}
