import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { WrongPasswordError } from '../../src/core/errors.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import type { PasswordSource } from '../../src/core/session/unlock.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { rotateMasterKey } from '../../src/verbs/key/key-rotation.ts';
import { addRepositoryKey, changeRepositoryPassword, removeRepositoryKeys } from '../../src/verbs/key/keys.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { SMALL_INIT } from '../support/crash-stage.ts';
import { FaultyBackend, SimulatedCrash } from '../support/faulty-backend.ts';
import { MemoryBackend } from '../support/memory-backend.ts';
import { PowerCutBackend } from '../support/power-cut-backend.ts';
import { createPrng } from '../support/prng.ts';
import type { Prng } from '../support/prng.ts';
import { sealedEpochs } from '../support/sealed-epochs.ts';
import { lengthOfRun, seedsOf } from '../support/seeds.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { SmallSource, describeRoots } from '../support/small-source.ts';
import type { SourceDescription } from '../support/small-source.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const SNAPSHOT_COUNT_MAX = 4;
/** Some runs are long. A seed that failed in the soak gives the same run in the suite. */
const commandCountOf = (seed: number): number => (seed % 10 === 0 ? 400 : lengthOfRun(seed, 40, 25));

/** One for each text: the hash of a password takes long, and is computed once for each master key. */
const sources = new Map<string, PasswordSource>();

function passwordOf(text: string): PasswordSource {
  const read = async (): Promise<Buffer> => Buffer.from(text);
  const source = sources.get(text) ?? { isConfigured: true, read, readNew: read };
  sources.set(text, source);
  return source;
}

/** A repository, and what must be true of its snapshots and passwords. */
class KeyModel {
  readonly #prng: Prng;
  readonly #source: SmallSource;
  readonly #target: string;
  readonly log: string[] = [];
  readonly #snapshots = new Map<string, SourceDescription>();
  #disk = new MemoryBackend();
  /** Of the one who rotates. */
  #own = 'own 0';
  /** Key ids of other passwords that must open the repository, by password. */
  readonly #others = new Map<string, string>();
  /** Must open nothing any more. */
  readonly #gone = new Set<string>();
  #count = 0;
  epochAndCrashCount = 0;

  constructor(directory: string, prng: Prng) {
    this.#prng = prng;
    mkdirSync(join(directory, 'source'));
    this.#source = new SmallSource(join(directory, 'source'), prng);
    this.#target = join(directory, 'target');
  }

  async run(commandCount: number): Promise<void> {
    await initRepository(this.#context(), { ...SMALL_INIT, encryption: 'always' });
    const commands = ['backup', 'backup', 'delete', 'compact', 'rotate', 'rotate', 'reseal', 'add', 'remove', 'passwd'];
    // If too little has happened by then, it runs on.
    for (let step = 0; step < commandCount || (this.epochAndCrashCount < 2 && step < 10 * commandCount); step += 1) {
      const command = this.#snapshots.size >= SNAPSHOT_COUNT_MAX ? 'delete' : this.#prng.pick(commands);
      this.log.push(command);
      await this.#carryOut(command);
      if (this.#prng.int(3) === 0) await this.#verify();
    }
    await this.#verify();
  }

  #context(text: string = this.#own, backend: OperationContext['backend'] = this.#disk): OperationContext {
    return { ...simulatedProcess(backend), password: passwordOf(text) };
  }

  /** Whoever may do so: each password opens everything. */
  #anyone(): string {
    return this.#prng.pick([this.#own, ...this.#others.keys()]);
  }

  async #carryOut(command: string): Promise<void> {
    const context = this.#context(this.#anyone());
    switch (command) {
      case 'backup':
        return await this.#backUp(context);
      case 'delete':
        return await this.#delete(context);
      case 'compact':
        return void (await compact(context, { maxUnusedPercent: this.#prng.pick([0, 20]) }));
      case 'add':
        return await this.#add(context);
      case 'remove':
        return await this.#remove();
      case 'passwd':
        return await this.#changePassword();
      case 'reseal':
        return await this.#reseal();
      default:
        return await this.#rotate();
    }
  }

  async #backUp(context: OperationContext): Promise<void> {
    this.#source.mutate();
    const roots = this.#source.pickRoots();
    const description = this.#source.describe(roots);
    const paths = roots.map((root) => join(this.#source.directory, root));
    const { snapshotId } = await backup(context, { sources: paths, cwd: '/', hostname: 'model' });
    this.#snapshots.set(snapshotId!, description);
  }

  async #delete(context: OperationContext): Promise<void> {
    const ids = [...this.#snapshots.keys()].filter(() => this.#prng.int(2) === 0);
    if (ids.length === 0) return;
    await deleteSnapshots(context, { selectors: ids, reclaim: this.#prng.int(2) === 0 });
    for (const id of ids) this.#snapshots.delete(id);
  }

  async #add(context: OperationContext): Promise<void> {
    this.#count += 1;
    const text = `other ${this.#count}`;
    const { keyIds } = await addRepositoryKey(context, { newPassword: passwordOf(text) });
    this.#others.set(text, keyIds[0]!);
  }

  async #remove(): Promise<void> {
    const [text, id] = this.#prng.pick([...this.#others, [undefined, '']] as const);
    if (text === undefined) return;
    await removeRepositoryKeys(this.#context(), [id]);
    this.#others.delete(text);
    this.#gone.add(text);
  }

  async #changePassword(): Promise<void> {
    this.#count += 1;
    const text = `own ${this.#count}`;
    const crashed = await this.#mayCrash(async (context) =>
      changeRepositoryPassword(context, { newPassword: passwordOf(text) }),
    );
    // Where it died, one of the two opens the repository, or both.
    if (crashed && (await this.#opens(this.#own))) {
      return;
    }
    this.#gone.add(this.#own);
    this.#own = text;
  }

  async #reseal(): Promise<void> {
    const crashed = await this.#mayCrash(async (context) => compact(context, { reseal: true }));
    if (crashed) return;
    const epochs = sealedEpochs(this.#disk);
    const newest = Math.max(...[...epochs.values()].flatMap((each) => [...each]));
    for (const name of ['packs', 'index', 'filter']) {
      assert(
        [...(epochs.get(name) ?? [])].every((epoch) => epoch === newest || this.#isUnfinished()),
        name,
      );
    }
  }

  async #rotate(): Promise<void> {
    const crashed = await this.#mayCrash(rotateMasterKey);
    if (!crashed) this.epochAndCrashCount += 1;
    for (const [text] of this.#others) {
      if (crashed && (await this.#opens(text))) continue;
      this.#others.delete(text);
      this.#gone.add(text);
    }
    if (crashed && this.#prng.int(3) === 0) await repair(this.#context());
  }

  #isUnfinished(): boolean {
    return !this.#disk.peek('config')!.equals(this.#disk.peek('config.bak')!);
  }

  /** Every other time the process dies, and perhaps the power is cut. Returns whether it did. */
  async #mayCrash(act: (context: OperationContext) => Promise<unknown>): Promise<boolean> {
    const disk = new PowerCutBackend(this.#disk);
    const only = (operation: string, name: string): boolean =>
      !name.startsWith('locks/') && ['create', 'sync', 'rename', 'remove', 'syncDirectory'].includes(operation);
    const failAt = this.#prng.int(2) === 0 ? 1 + this.#prng.int(16) : 100_000;
    const faulty = new FaultyBackend(disk, { mode: 'crash', failAt, only });
    try {
      await act(this.#context(this.#own, faulty));
      this.#disk = disk.copy();
      return false;
    } catch (error) {
      if (!(error instanceof SimulatedCrash)) throw error;
      this.epochAndCrashCount += 1;
      const cutSeed = this.#prng.int(8);
      this.#disk = cutSeed < 4 ? disk.cut(cutSeed) : disk.copy();
      this.log.push(`crash at operation ${failAt}${cutSeed < 4 ? `, power cut ${cutSeed}` : ''}`);
      return true;
    }
  }

  async #opens(text: string): Promise<boolean> {
    // A source of its own: the keys that were opened before are not asked for again.
    const read = async (): Promise<Buffer> => Buffer.from(text);
    const context = { ...this.#context(), password: { isConfigured: true, read, readNew: read } };
    return await check(context).then(
      () => true,
      (error: unknown) => {
        if (error instanceof WrongPasswordError) return false;
        throw error;
      },
    );
  }

  async #verify(): Promise<void> {
    const { findings } = await check(this.#context(this.#anyone()), { readData: true });
    assert.deepEqual(
      findings.filter(({ kind }) => kind !== 'config-outdated' && kind !== 'key-unused'),
      [],
    );
    for (const [id, description] of this.#snapshots) {
      mkdirSync(this.#target);
      const { problems } = await restore(this.#context(), { selector: id, target: this.#target });
      assert.deepEqual(problems, []);
      const restored = describeRoots(this.#target, [...description.keys()]);
      for (const [root, tree] of description) assert.deepEqual(diffTrees(tree, restored.get(root)!), [], root);
      rmSync(this.#target, { recursive: true });
    }
    for (const text of this.#others.keys()) assert(await this.#opens(text), `${text} opens nothing`);
    for (const text of this.#gone) assert(!(await this.#opens(text)), `${text} opens the repository`);
    this.#gone.clear();
  }
}

test.each(seedsOf(1, 30))(
  'any sequence of commands keeps what passwords open and what snapshots contain (seed %i)',
  async (seed) => {
    const model = new KeyModel(memoryDirectory(), createPrng(seed));
    await model.run(commandCountOf(seed)).catch((cause: unknown) => {
      throw new Error(`seed ${seed}, command ${model.log.length}:\n${model.log.slice(-15).join('\n')}`, { cause });
    });
    expect(model.epochAndCrashCount).toBeGreaterThan(1);
  },
  600_000,
);
