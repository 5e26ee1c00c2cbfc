import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { afterAll, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const TOOLS = join(ROOT, 'tools/browser/node_modules');
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);
const SHOTS = join(ROOT, 'build/screenshots');
const WIDTHS = [360, 800, 1400];
const SCHEMES = ['light', 'dark'] as const;

/** Why there is no browser; undefined if there is one. */
const browserMissing: string | undefined =
  CHROMIUM === undefined
    ? 'chromium is not installed'
    : existsSync(TOOLS)
      ? undefined
      : 'the tools for the browser are not installed: npm ci --prefix tools/browser';

/** What the tests use of the library `playwright-core`, which is installed apart. */
interface Found {
  click(): Promise<void>;
  check(): Promise<void>;
  fill(text: string): Promise<void>;
  press(key: string): Promise<void>;
  focus(): Promise<void>;
  selectOption(value: string): Promise<unknown>;
  waitFor(options?: { readonly state?: 'visible' | 'hidden' | 'attached' | 'detached' }): Promise<void>;
  count(): Promise<number>;
  textContent(): Promise<string | null>;
  innerText(): Promise<string>;
  inputValue(): Promise<string>;
  getAttribute(name: string): Promise<string | null>;
  isChecked(): Promise<boolean>;
  nth(index: number): Found;
  first(): Found;
  allInnerTexts(): Promise<string[]>;
  getByRole(role: string, options?: RoleOptions): Found;
  getByText(text: string | RegExp): Found;
}

interface RoleOptions {
  readonly name?: string | RegExp;
  readonly exact?: boolean;
}

/** A page of the browser. */
export interface Tab extends Pick<Found, 'getByRole' | 'getByText'> {
  getByLabel(text: string | RegExp): Found;
  goto(address: string): Promise<unknown>;
  reload(): Promise<unknown>;
  goBack(): Promise<unknown>;
  url(): string;
  title(): Promise<string>;
  evaluate<T>(expression: string): Promise<T>;
  addScriptTag(options: { readonly content: string }): Promise<unknown>;
  screenshot(options: { readonly path: string; readonly fullPage?: boolean }): Promise<unknown>;
  setViewportSize(size: { readonly width: number; readonly height: number }): Promise<void>;
  emulateMedia(options: {
    readonly colorScheme?: 'light' | 'dark';
    readonly media?: 'print' | 'screen';
  }): Promise<void>;
  waitForEvent(name: 'download' | 'popup'): Promise<{
    suggestedFilename(): string;
    path(): Promise<string>;
  }>;
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  on(name: 'pageerror' | 'console', listener: (event: never) => void): void;
  close(): Promise<void>;
}

interface Browser {
  newContext(options: object): Promise<{ newPage(): Promise<Tab>; close(): Promise<void> }>;
  close(): Promise<void>;
}

/** A test that is skipped, with the reason, where there is no browser. */
export function browserTest(title: string, body: () => Promise<void>): void {
  it(title, async ({ skip }) => {
    skip(browserMissing !== undefined, browserMissing);
    await body();
  });
}

let started: Promise<Browser> | undefined;

/** One browser for a file of tests. */
async function browser(): Promise<Browser> {
  if (started === undefined) {
    const { chromium } = createRequire(join(TOOLS, 'index.js'))('playwright-core') as {
      readonly chromium: { launch(options: object): Promise<Browser> };
    };
    started = chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    afterAll(async () => (await started)?.close());
  }
  return await started;
}

/** Opens an address in a new context of the browser, and fails if the page reports an error that is not `expected`. */
export async function withTab(
  address: string,
  work: (tab: Tab) => Promise<void>,
  expected: RegExp = /^$/,
): Promise<void> {
  const context = await (await browser()).newContext({ viewport: { width: 1400, height: 900 }, locale: 'en-US' });
  const errors: string[] = [];
  try {
    const tab = await context.newPage();
    tab.on('pageerror', (error: Error) => errors.push(String(error)));
    tab.on('console', (message: { type(): string; text(): string }) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    await tab.goto(address);
    await work(tab);
    expect(errors.filter((error) => !expected.test(error))).toEqual([]);
  } finally {
    await context.close();
  }
}

/** Fails for what people who use a keyboard or a screen reader could not use, by the rules of axe. */
export async function expectAccessible(tab: Tab): Promise<void> {
  await tab.evaluate(readFileSync(join(TOOLS, 'axe-core/axe.min.js'), 'utf8'));
  const violations = await tab.evaluate<string[]>(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
  );
  expect(violations).toEqual([]);
}

/** Takes pictures for people to look at, and fails if the page is wider than the window. */
export async function takePictures(tab: Tab, name: string): Promise<void> {
  mkdirSync(SHOTS, { recursive: true });
  for (const colorScheme of SCHEMES) {
    await tab.emulateMedia({ colorScheme });
    for (const width of WIDTHS) {
      await tab.setViewportSize({ width, height: 900 });
      const overhang = await tab.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      expect(overhang, `${name} at ${width} px is too wide by`).toBeLessThanOrEqual(0);
      await tab.screenshot({ path: join(SHOTS, `${name}-${width}-${colorScheme}.png`) });
    }
    await expectAccessible(tab);
  }
}
