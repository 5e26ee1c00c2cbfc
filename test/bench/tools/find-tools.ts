import type { Tool } from '../bench-types.ts';
import { findBorgs } from './borg.ts';
import { findFloors } from './floor.ts';
import { findLdms } from './ldm.ts';
import { findRestic } from './restic.ts';

/** Every tool that is installed here; a name picks tools by its first letters, as `borg` both of borg. */
export function findTools(names?: readonly string[]): Tool[] {
  const tools = [...findLdms(), findRestic(), ...findBorgs(), ...findFloors()].filter((tool) => tool !== undefined);
  return names === undefined ? tools : tools.filter((tool) => names.some((name) => tool.name.startsWith(name)));
}
