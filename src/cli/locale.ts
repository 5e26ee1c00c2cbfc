/** Returns whether the locale allows only ASCII, like `LC_ALL=C`. Without any locale, UTF-8 is assumed. */
export function isAsciiOnly(environment: NodeJS.ProcessEnv = process.env): boolean {
  const { LC_ALL, LC_CTYPE, LANG } = environment;
  const locale = [LC_ALL, LC_CTYPE, LANG].find((value) => value !== undefined && value !== '') ?? 'C.UTF-8';
  return !/utf-?8/i.test(locale);
}
