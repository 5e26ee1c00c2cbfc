/** Whether the locale allows ASCII only: `LC_ALL=C` and the like. Without any locale UTF-8 is taken for granted. */
export function isAsciiOnly(environment: NodeJS.ProcessEnv = process.env): boolean {
  const { LC_ALL, LC_CTYPE, LANG } = environment;
  const locale = [LC_ALL, LC_CTYPE, LANG].find((value) => value !== undefined && value !== '') ?? 'C.UTF-8';
  return !/utf-?8/i.test(locale);
}
