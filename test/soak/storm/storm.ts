import { appendFileSync } from 'node:fs';
import { expect } from 'vitest';

import { createPrng } from '../../support/prng.ts';
import type { Prng } from '../../support/prng.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { Client } from './client.ts';
import type { RunResult, Surroundings } from './client.ts';
import { FaultChoice } from './fault-choice.ts';
import { Ledger } from './ledger.ts';
import { OPERATIONS } from './operations.ts';
import type { StormPlace } from './place.ts';
import { verifyEnd } from './verify-end.ts';

const CLIENT_COUNT = 3;
/** The exit codes that a fault may cause. */
const EXPECTED_CODES: ReadonlySet<number | null> = new Set([0, 1, 11]);
/** A storm that has not seen everything after this many times its commands has failed. */
const LONGER_MAX = 3;
/** How long the weather waits for commands at most. */
const WAIT_MS_MAX = 15_000;
const LOOK_MS = 50;

export interface StormOptions {
  readonly seed: number;
  /** How many commands run at least. */
  readonly commands: number;
  /** How many snapshots are there to be compared at least. */
  readonly saves: number;
}

/**
 * Lets clients do anything at random while the servers and their connections fail, and then compares what is left. With
 * `LDM_STORM_LOG`, a file has a line for each command.
 */
export async function runStorm(place: StormPlace, options: StormOptions): Promise<void> {
  const { seed, commands, saves } = options;
  const storm = new Storm(place, options);
  await storm.run();
  const compared = await verifyEnd(storm.clients, storm);
  storm.report(`${compared} snapshots compared`);
  expect(storm.ledger.failures, `seed ${seed}`).toEqual([]);
  expect(storm.choice.missing, `faults that have not happened, seed ${seed}`).toEqual([]);
  expect(storm.endedCount).toBeGreaterThanOrEqual(commands);
  expect(compared).toBeGreaterThanOrEqual(saves);
}

class Storm implements Surroundings {
  readonly place: StormPlace;
  readonly seed: number;
  readonly directory: string = memoryDirectory();
  readonly ledger: Ledger = new Ledger();
  readonly choice: FaultChoice;
  readonly clients: readonly Client[];
  endedCount = 0;
  readonly #prng: Prng;
  readonly #options: StormOptions;
  readonly #startMs: number = performance.now();
  /** How often each command has run, and has succeeded. */
  readonly #counts = new Map<string, [number, number]>();
  #begunCount = 0;
  /** What a command prints that meets the event of now. */
  #symptom: { readonly event: string; readonly pattern: RegExp } | undefined;

  constructor(place: StormPlace, options: StormOptions) {
    this.place = place;
    this.seed = options.seed;
    this.#options = options;
    this.#prng = createPrng(options.seed);
    this.choice = new FaultChoice(place, this.#prng);
    const count = place.isShared ? CLIENT_COUNT : 1;
    this.clients = Array.from({ length: count }, (_, index) => new Client(this, index));
  }

  async run(): Promise<void> {
    await this.#createRepositories();
    await Promise.all([this.#makeWeather(), ...this.clients.map(async (client) => await this.#work(client))]);
    this.report(`${this.place.name}, seed ${this.seed}: ${this.endedCount} commands`);
    this.report(`commands (all, successful): ${JSON.stringify(Object.fromEntries(this.#counts))}`);
    this.report(`faults: ${JSON.stringify(Object.fromEntries(this.choice.counts))}`);
  }

  report(line: string): void {
    process.stdout.write(`  ${line} after ${this.#seconds()} s\n`);
  }

  log(line: string): void {
    const file = process.env['LDM_STORM_LOG'];
    if (file !== undefined) appendFileSync(file, `${this.#seconds()} ${line}\n`);
  }

  #seconds(): string {
    return ((performance.now() - this.#startMs) / 1000).toFixed(1);
  }

  #isOver(): boolean {
    const { commands, saves } = this.#options;
    if (this.ledger.failures.length > 0 || this.endedCount >= commands * LONGER_MAX) return true;
    const isCompared = this.ledger.saved().length >= saves;
    return this.endedCount >= commands && isCompared && this.choice.missing.length === 0;
  }

  async #createRepositories(): Promise<void> {
    const init = ['init', '--capacity', '4096'];
    const made = await this.clients[0]!.runCalmly([...init, ...this.place.initOptions]);
    expect([made.code, made.stderr]).toEqual([0, '']);
    for (const client of this.clients) {
      const second = await client.runCalmly([...init, '-r', client.second]);
      expect([second.code, second.stderr]).toEqual([0, '']);
    }
  }

  async #work(client: Client): Promise<void> {
    while (!this.#isOver()) {
      const [name, , operation] = pickOperation(client.prng);
      const tag = `op-${(this.#begunCount += 1)}`;
      const result = await operation(client, this, tag);
      if (result !== undefined) this.#note(`${tag} ${client.host} ${name}`, name, result);
    }
  }

  #note(title: string, name: string, result: RunResult): void {
    const { code, signal, stderr } = result;
    this.endedCount += 1;
    if (this.#symptom?.pattern.test(stderr) === true) this.choice.count(this.#symptom.event, 1);
    const [all, successful] = this.#counts.get(name) ?? [0, 0];
    this.#counts.set(name, [all + 1, successful + (code === 0 ? 1 : 0)]);
    this.log(`${title}: ${describe(result)}`);
    if (signal === null && !EXPECTED_CODES.has(code))
      this.ledger.fail(`${title} ended with ${code}: ${stderr.slice(0, 2000)}`);
  }

  /** Lets something happen to the server now and then. */
  async #makeWeather(): Promise<void> {
    while (!this.#isOver()) {
      await this.#waitForCommands(4 + this.#prng.int(6));
      if (this.#isOver()) return;
      const [event, { run, symptom }] = this.choice.nextEvent();
      this.log(`event: ${event}`);
      this.#symptom = symptom && { event, pattern: symptom };
      const count = await run(this.#waitForCommands(this.#prng.int(4)));
      if (count !== undefined) this.choice.count(event, count);
      this.log(`event over: ${event} ${count ?? ''}`);
      this.#symptom = undefined;
    }
  }

  /** Waits until so many commands have ended, or for a while. */
  async #waitForCommands(count: number): Promise<void> {
    const target = this.endedCount + count;
    const deadlineMs = performance.now() + WAIT_MS_MAX;
    while (!this.#isOver() && this.endedCount < target && performance.now() < deadlineMs)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function describe({ code, signal, durationMs, plan, firedCount, retryFor, stderr }: RunResult): string {
  const fault = plan === undefined ? 'calm' : `${JSON.stringify(plan)} x${firedCount}`;
  return `${code ?? signal} in ${durationMs} ms, ${fault}, ${retryFor} ${JSON.stringify(stderr.slice(0, 600))}`;
}

function pickOperation(prng: Prng): (typeof OPERATIONS)[number] {
  const total = OPERATIONS.reduce((sum, [, weight]) => sum + weight, 0);
  let left = prng.int(total);
  return OPERATIONS.find(([, weight]) => (left -= weight) < 0)!;
}
