/** Returns whether the locale allows only ASCII, like `LC_ALL=C`. Without any locale, UTF-8 is assumed. */
export function isAsciiOnly(environment: NodeJS.ProcessEnv = process.env): boolean {
  const { LC_ALL, LC_CTYPE, LANG } = environment;
  const locale = [LC_ALL, LC_CTYPE, LANG].find((value) => value !== undefined && value !== '') ?? 'C.UTF-8';
  return !/utf-?8/i.test(locale);
}
/** The characters of charts and tables that ASCII lacks, and what is closest. */
const ASCII_FORMS: Readonly<Record<string, string>> = {
  '±': '+-',
  '·': '.',
  '¦': ':',
  '│': '|',
  '┤': '|',
  '├': '|',
  '─': '-',
  '┬': '-',
  '┴': '-',
  '┼': '+',
  '└': '+',
  '┘': '+',
  '┌': '+',
  '┐': '+',
  '▲': '^',
  '▶': '>',
  '░': '.',
  '▒': ':',
  '▓': '%',
  '█': '#',
};

/** Replaces what a locale that allows only ASCII cannot show. Not for names of files. */
export function inLocale(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the first 128 characters are ASCII
  return isAsciiOnly() ? text.replace(/[^\u0000-\u007f]/gu, (character) => ASCII_FORMS[character] ?? '?') : text;
}
