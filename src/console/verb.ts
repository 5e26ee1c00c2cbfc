import type { Command } from 'commander';
import type { CommandRunner } from './command-runner.ts';

/** The headings of the list of commands, in the order of the help: the most important ones first. */
export const HEADINGS = [
  'Everyday',
  'Snapshots',
  'Files',
  'Repository',
  'Scheduled backups',
  'Several repositories',
  'Program',
  'Inside',
] as const;

/**
 * A command, or a group of commands. What `define` adds to the program is all that the program knows of it: its help, its
 * man pages, its completion and its exit codes follow from that.
 */
export interface Verb {
  readonly heading: (typeof HEADINGS)[number];
  /** The page of `docs/` for the task that the command is for, if there is one: `groups.md`. */
  readonly page?: string;
  define(this: void, program: Command, runner: CommandRunner): void;
}
