import { useEffect, useState } from 'preact/hooks';

/** Where the page is: `#/browse?snapshot=...`. Links and the buttons of the browser change it. */
interface Route {
  readonly name: string;
  readonly parameters: URLSearchParams;
}

export const route: { value: Route } = { value: currentRoute() };

/** For the outermost component: draws all of the page again when the address changes. */
export function useRoute(): Route {
  const [shown, setShown] = useState(route.value);
  useEffect(() => {
    const change = (): void => {
      route.value = currentRoute();
      setShown(route.value);
    };
    addEventListener('hashchange', change);
    return () => removeEventListener('hashchange', change);
  }, []);
  return shown;
}

export function link(name: string, parameters: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(parameters).toString();
  return `#/${name}${query === '' ? '' : `?${query}`}`;
}

function currentRoute(): Route {
  const [name = '', query = ''] = location.hash.slice(1).split('?', 2);
  return { name: name.replace(/^\//, '') || 'snapshots', parameters: new URLSearchParams(query) };
}
