/** Returns the environment for a program that ldm starts, which needs no password of a repository. */
export function withoutOwnVariables(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('LDM_')));
}
