/**
 * Returns the words that start this program again, with absolute paths: neither Node nor ldm is in the PATH of a timer if
 * Node came from a version manager. The single executable is both, and says so with its own path as that of its script.
 */
export function ownProgram(nodeOptions: readonly string[] = []): readonly string[] {
  const script = process.argv[1]!;
  return script === process.execPath ? [script] : [process.execPath, ...nodeOptions, script];
}
