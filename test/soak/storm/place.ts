import type { Prng } from '../../support/prng.ts';

/** A fault in the connection of one client. */
export interface FaultPlan {
  readonly kind: string;
  /** From which request of a connection on, counted from 1. */
  readonly at: number;
  /** How often. A client that connects again may meet it again. */
  readonly times: number;
  /** How long a stall lasts, or how long a suspended client sleeps at least. */
  readonly ms: number;
  /** Whether the request reaches the server before its client is killed or suspended. */
  readonly isPassed: boolean;
}

/** What a kind of fault is like. */
export interface FaultKind {
  readonly ms?: number;
  /** At most this many in a storm: they take long. */
  readonly countMax?: number;
  readonly timesMax?: number;
}

/** Something that happens to the server, and so to all clients. */
export interface ServerEvent {
  /** Begins it, and ends it when `isOver` resolves. Returns how many connections it has ended, as far as that is known. */
  readonly run: (isOver: Promise<unknown>) => Promise<number | undefined>;
  /** What a command prints that has met it. Without one, the connections count. */
  readonly symptom?: RegExp;
}

/** Real servers with a repository, whose connections can be disturbed. */
export interface StormPlace {
  readonly name: string;
  readonly kinds: Readonly<Record<string, FaultKind>>;
  readonly events: Readonly<Record<string, ServerEvent>>;
  /** Further arguments of `ldm init`. */
  readonly initOptions: readonly string[];
  /** Whether several clients may use the repository at once. */
  readonly isShared: boolean;
  /** Whether a killed client can leave a part of a file, which `check` reports and `repair` removes. */
  readonly leavesParts: boolean;
  /** Returns the environment of a client for one command, which meets the fault. */
  connect(client: number, plan: FaultPlan | undefined, prng: Prng): Readonly<Record<string, string>>;
  /** Called with the id of the process of this command. */
  started(client: number, pid: number): void;
  /** How often the fault of the command has happened. */
  firedCount(client: number): number;
  /** Whether the client is suspended now. */
  isSuspended(client: number): boolean;
  /** Removes the locks of a process, as others do when they have expired. Returns how many. */
  removeLocksOf(pid: number): Promise<number>;
  /** All files of the repository with their sizes. */
  files(): Promise<ReadonlyMap<string, number>>;
}

/** Whether a lock is of this process. Its id is in the name. */
export function isLockOf(name: string, pid: number): boolean {
  return /^(?:shared|exclusive)-/.test(name) && name.split('_').includes(String(pid));
}
