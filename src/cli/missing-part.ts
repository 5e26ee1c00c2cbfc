/** What is said if a file of the program cannot be loaded. */
interface MissingPart {
  readonly message: string;
  readonly hint: string;
}

/**
 * Detects that a file of the program is gone. Each is loaded only when it is needed, so an update or a removal of the
 * program can come first. Names of the files contain their digest: a running program never loads those of another version.
 */
export function describeMissingPart(error: unknown): MissingPart | undefined {
  const { code, url } = (error ?? {}) as { readonly code?: unknown; readonly url?: unknown };
  if (code !== 'ERR_MODULE_NOT_FOUND' || typeof url !== 'string' || !/\/dist\/[^/]+\/[^/]+\.js$/.test(url))
    return undefined;
  return {
    message: `the program was updated or removed while it ran: ${url.slice(url.lastIndexOf('/') + 1)} is gone`,
    hint: 'Run the command again. If that does not help, install ldm again.',
  };
}
