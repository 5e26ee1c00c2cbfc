/** Values that are wrong for each kind of argument, in every way in which one can be. */
const ignore = (): void => undefined;

const ALWAYS = [null, NaN, Symbol('x'), 10n] as const;
const NO_OBJECT = [...ALWAYS, '', 'x', 0, 1, true, [], () => 0];
const NO_LIST = [...ALWAYS, '', 'x', 0, true, {}, () => 0];
const NO_TEXT = [...ALWAYS, '', 0, 1, true, [], ['x'], {}, () => 0];
const NO_NUMBER = [...ALWAYS, '', '1', -1, -Infinity, true, [], [1], {}, () => 0];
const NO_TIME = [...NO_TEXT, 'x', '2026-13-01T00:00:00Z', 'tomorrow'];
const NO_TEXTS = [...NO_LIST, [''], [1], [null], ['x', undefined], [['x']]];
const NO_LISTS = [...NO_LIST, [1], [null], ['x'], [['']], [[1]], [['x'], 'x']];
const NO_SHARE = [
  ...NO_OBJECT,
  {},
  { part: 1 },
  { of: 1 },
  { part: 0, of: 1 },
  { part: 2, of: 1 },
  { part: 1.5, of: 2 },
  { part: '1', of: '2' },
  { percent: 0 },
  { percent: 100.1 },
  { percent: NaN },
  { percent: '1' },
  { percent: undefined },
];
const NO_BACKEND = [...NO_OBJECT, {}, { location: 'x' }, { location: 1, read: ignore, list: ignore, sizeOf: ignore }];
const NO_OTHER = [...NO_OBJECT, {}, { x: 1 }, ...NO_BACKEND.map((backend) => ({ backend }))];

/** A valid object, each time with one wrong member. `others`: members that it has. */
function wrongMembers(kinds: Readonly<Record<string, readonly unknown[]>>, others: object = {}): unknown[] {
  return Object.entries(kinds).flatMap(([name, values]) => values.map((value) => ({ ...others, [name]: value })));
}

/** The same if each member must be there. */
function wrongOrMissing(kinds: Readonly<Record<string, readonly unknown[]>>, valid: object): unknown[] {
  const names = Object.keys(kinds);
  const missing = wrongMembers(Object.fromEntries(names.map((name) => [name, [undefined]])), valid);
  return [...NO_OBJECT, {}, { ...valid, more: 1 }, ...missing, ...wrongMembers(kinds, valid)];
}

const NO_COUNT = [...NO_NUMBER, 1.5, Infinity, 2 ** 53];
const NO_SPAN = wrongOrMissing(
  { years: NO_COUNT, months: NO_COUNT, days: NO_COUNT, hours: NO_COUNT },
  { years: 0, months: 0, days: 1, hours: 0 },
);
const NO_SOCKET = wrongOrMissing({ kind: [...NO_TEXT, 'x'], path: NO_TEXT }, { kind: 'socket', path: '/x' });
const NO_TLS = wrongOrMissing(
  { kind: [...NO_TEXT, 'x'], host: NO_TEXT, port: NO_COUNT, certificateFile: NO_TEXT, keyFile: NO_TEXT },
  { kind: 'tls', host: 'x', port: 1, certificateFile: 'x', keyFile: 'x' },
);
const UNITS = ['hourly', 'daily', 'weekly', 'monthly', 'yearly'];

const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  text: NO_TEXT,
  anyText: NO_TEXT.filter((value) => value !== ''),
  time: NO_TIME,
  path: [...NO_TEXT, new Uint8Array(0)],
  texts: NO_TEXTS,
  lists: NO_LISTS,
  paths: [...NO_TEXTS, [new Uint8Array(0)]],
  flag: [...ALWAYS, '', 'true', 0, 1, [], {}, () => 0],
  count: NO_COUNT,
  positive: [...NO_COUNT, 0],
  integer: NO_COUNT.filter((value) => value !== -1),
  number: NO_NUMBER,
  call: [...ALWAYS, '', 'x', 0, true, [], {}],
  object: NO_OBJECT,
  objects: [...NO_LIST, [1], [null], ['x'], [[]]],
  groupBy: [...NO_LIST, ['x'], [1], ['host', null], [['host']]],
  overwrite: [...NO_TEXT, 'x', 'Never'],
  smallChunks: [...NO_TEXT, 'x', 'Always'],
  format: [...NO_TEXT, 'x', 'gz'],
  ask: [...NO_TEXT, 'x'],
  other: NO_OTHER,
  others: [...NO_LIST, [], ...NO_OTHER.map((other) => [other])],
  policyName: [...NO_TEXT, 'x'],
  password: [...NO_OBJECT, {}, { read: ignore }, { read: 1, readNew: 1 }],
  source: [...NO_OBJECT, {}, { fetch: 1 }],
  stream: [...ALWAYS, 'x', 0, true, {}, () => 0],
  streamedFile: wrongOrMissing(
    { path: [...NO_TEXT, new Uint8Array(0)], content: [...NO_OBJECT, {}, ['x']] },
    { path: 'x', content: readNothing() },
  ),
  share: [...NO_SHARE, { bytes: 1 }],
  readData: [
    ...NO_SHARE.filter((value) => value !== true),
    false,
    { bytes: 0 },
    { bytes: -1 },
    { bytes: NaN },
    { bytes: '1' },
  ],
  filter: [
    ...NO_OBJECT,
    ...wrongMembers({ x: [1], hosts: NO_TEXTS, paths: NO_TEXTS, tags: NO_LISTS, since: NO_TIME, before: NO_TIME }),
  ],
  patterns: [...NO_OBJECT, ...wrongMembers({ x: [1], exact: NO_TEXTS, ignoringCase: NO_TEXTS })],
  listed: [...NO_OBJECT, ...wrongMembers({ x: [1], patterns: NO_TEXTS, paths: NO_TEXTS })],
  policy: [
    ...NO_OBJECT,
    ...wrongMembers({ x: [1], tags: NO_LISTS, within: NO_SPAN, counts: NO_OBJECT, withinUnits: NO_OBJECT }),
    ...['x', 'last', ...UNITS].flatMap((unit) => NO_NUMBER.map((count) => ({ counts: { [unit]: count } }))),
    ...['x', 'last'].map((unit) => ({ withinUnits: { [unit]: { years: 0, months: 0, days: 1, hours: 0 } } })),
    ...UNITS.flatMap((unit) => NO_SPAN.map((span) => ({ withinUnits: { [unit]: span } }))),
  ],
  range: [
    ...NO_OBJECT,
    ...wrongMembers({
      x: [1],
      timeMs: [...NO_LIST, [], [1], [1, NaN], [1, '2'], [1, 2, 3]],
      sizeBytes: [...NO_LIST, [], [1], [1, NaN], [1, '2'], [1, 2, 3]],
      pathPrefix: [...ALWAYS, 0, true, [], {}],
    }),
  ],
  listen: [...NO_SOCKET, ...NO_TLS],
  visitor: [...NO_OBJECT, {}, { begin: ignore }, { visit: ignore }, { begin: 1, visit: 1 }],
  state: [...NO_TEXT, 'x'],
  hash: [...NO_TEXT, 'md5'],
  encryption: [...NO_TEXT, 'x'],
  backend: NO_BACKEND,
  signal: [...NO_OBJECT, {}],
  memory: [...NO_OBJECT, {}, { recall: ignore }],
  acceptance: [...ALWAYS, '', 'x', 0, [], {}],
};

async function* readNothing(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(0);
}

/** What an argument of a kind cannot be. The kind of one that must be there ends with `!`. */
export function wrongValues(kind: string): readonly unknown[] {
  const values = VALUES[kind.replace('!', '')];
  if (values === undefined) throw new Error(`there is no kind ${kind}`);
  return kind.endsWith('!') ? [...values, undefined] : values;
}

/** Values that may be right for one argument and wrong for another one. */
export const VARIED_VALUES: readonly unknown[] = [
  null,
  undefined,
  '',
  'x',
  'latest',
  NaN,
  -1,
  0,
  1,
  1.5,
  Infinity,
  true,
  false,
  [],
  [''],
  ['x'],
  [null],
  [1],
  [[]],
  {},
  { x: 1 },
  () => 0,
  Symbol('x'),
  10n,
  new Uint8Array(1),
  new Date(0),
  new Map(),
  '2026-01-01T00:00:00Z',
];
