import { dirname } from 'node:path';

/**
 * The functions that run when one function of the sources is called: its own calls, the calls of those, and so on, found by
 * name. Methods and functions that are passed as values are not followed. `climbs`: calls into a folder that imports the
 * folder of the caller.
 */
export function walkOf(sources, start) {
  const declared = new Map([...sources.values()].map((file) => [file.path, functionsOf(file.text)]));
  const imported = new Map([...sources.values()].map((file) => [file.path, importedNames(file)]));
  const first = [...declared].find(([, functions]) => functions.has(start))?.[0];
  const seen = new Map([[`${first} ${start}`, [first, start]]]);
  const climbs = [];
  for (const [path, name] of seen.values()) {
    const body = declared.get(path).get(name);
    for (const [, called] of body.matchAll(/(?<![.\w])(\w+)(?:<[^>]*>)?\(/g)) {
      const target = declared.get(path).has(called) ? path : imported.get(path).get(called);
      if (target === undefined || !declared.get(target)?.has(called)) continue;
      if (isAbove(sources, target, path)) climbs.push(`${path} ${name} -> ${target} ${called}`);
      seen.set(`${target} ${called}`, [target, called]);
    }
  }
  return { functions: [...seen.keys()], climbs: [...new Set(climbs)] };
}

/** By name, its text. Relies on the formatter: a function ends at the first line that is a closing brace. */
function functionsOf(text) {
  const found = text.matchAll(/^(?:export )?(?:async )?function\*? (\w+)[\s\S]*?^\}/gm);
  return new Map([...found].map(([body, name]) => [name, body]));
}

function importedNames({ imports, text }) {
  const names = new Map();
  for (const { to, kind, names: list } of imports) {
    const words = kind === 'late' ? (text.match(/\b[a-z]\w*\b/g) ?? []) : (list ?? []);
    for (const name of words) if (!names.has(name) || kind !== 'late') names.set(name, to);
  }
  return names;
}

function isAbove(sources, target, path) {
  const [above, below] = [dirname(target), dirname(path)];
  if (above === below) return false;
  return [...sources.values()].some(
    (file) =>
      dirname(file.path) === above && file.imports.some(({ to, kind }) => kind === 'value' && dirname(to) === below),
  );
}
