const ORDER = 'core/repository/durable-order.ts';
const FILES = 'core/backend/file-system-backend.ts';
const STEPS = ['core/repository/durable-steps'];

export const bugs = [
  {
    id: 'WO18',
    file: ORDER,
    find: `    // When this fails the segment stays: another process may have opened the repository with it by now.
    await this.#backend.barrier();
`,
    replace: '',
    tests: STEPS,
    note: 'a segment is reported as written, and a power cut takes it away',
  },
  {
    id: 'WO19',
    file: ORDER,
    find: '    await orWithdraw(async () => this.#backend.barrier(), false);\n',
    replace: '',
    tests: STEPS,
    note: 'a snapshot is reported as saved, and a power cut takes it away',
  },
  {
    id: 'WO20',
    file: ORDER,
    find: '    await orWithdraw(async () => last.result(), true);\n',
    replace: '',
    tests: STEPS,
    note: 'a process that slept during its commit reports a snapshot whose packs are gone',
  },
  {
    id: 'WO21',
    file: ORDER,
    find: `      await this.#takeBackUnless(async () => last.result(), name);
    });
    await this.#backend.barrier();
`,
    replace: `      await this.#takeBackUnless(async () => last.result(), name);
    });
`,
    tests: STEPS,
    note: 'copies of manifests are reported as written before they are durable',
  },
  {
    id: 'WO22',
    file: ORDER,
    find: `      await this.#takeBackUnless(async () => last.result(), name);
    });
`,
    replace: `    });
`,
    tests: STEPS,
    note: 'a process that slept leaves the copy of a manifest that others have reclaimed: the snapshot looks lost',
  },
  {
    id: 'WO23',
    file: ORDER,
    find: `      await this.remove([name]);
      throw error;`,
    replace: '      throw error;',
    tests: STEPS,
    note: 'what a process must take back stays',
  },
  {
    id: 'WO24',
    file: ORDER,
    find: `    await (stays === true ? last.result() : this.#takeBackUnless(async () => last.result(), name));
`,
    replace: '',
    tests: STEPS,
    note: 'a process that slept leaves a checkpoint, a record or a condemnation that others rely on',
  },
  {
    id: 'WO25',
    file: ORDER,
    find: `          await verify?.();
          if (await moveMakingRoom`,
    replace: '          if (await moveMakingRoom',
    tests: STEPS,
    note: 'a delete goes on without its lock',
  },
  {
    id: 'WO26',
    file: ORDER,
    find: `    await verify();
    const restored`,
    replace: '    const restored',
    tests: STEPS,
    note: 'a delete is undone without a lock',
  },
  {
    id: 'WO27',
    file: ORDER,
    find: `      await this.#backend.barrier();
      await verify();
    } catch`,
    replace: `      await this.#backend.barrier();
    } catch`,
    tests: STEPS,
    note: 'a process that slept brings back a snapshot whose packs are gone',
  },
  {
    id: 'WO28',
    file: 'core/repository/staging.ts',
    find: '  await orDiscard(file, async () => file.flush());\n',
    replace: '',
    tests: STEPS,
    note: 'a full disk shows only when the condemnation gets its name, after everything was copied',
  },
  {
    id: 'WO29',
    file: ORDER,
    find: '    await this.publishHeld(condemnationName(prepared.id), prepared.file, { verify });',
    replace:
      '    await this.publishHeld(condemnationName(prepared.id), prepared.file, { verify, before: async () => undefined });',
    tests: STEPS,
    note: 'a process that lost its lock condemns packs that others rely on',
  },
  {
    id: 'WO30',
    file: 'core/repository/staging.ts',
    find: '    await (this.#looking ?? this.#verify());',
    replace: '    await (this.#looking ?? undefined);',
    tests: STEPS,
    note: 'where nothing is asked along, the lock is not verified after a name has appeared',
  },
  {
    id: 'WO31',
    file: ORDER,
    find: `    await file.publish(name, verify, isNew);
    await this.#backend.barrier();
`,
    replace: '    await file.publish(name, verify, isNew);\n',
    tests: STEPS,
    note: 'a key, a configuration or a checkpoint is reported as written before it is durable',
  },
  {
    id: 'WO32',
    file: 'core/repository/moves.ts',
    find: '    await bothOf(backend.barrier(), isSure ? verify!() : Promise.resolve());\n',
    replace: '    if (isSure) await verify!();\n',
    tests: STEPS,
    note: 'segments come back after their packs were removed',
  },
  {
    id: 'WO33',
    file: ORDER,
    find: `  async quarantine(name: string, verify?: Verify): Promise<void> {
    await verify?.();
`,
    replace: '  async quarantine(name: string, verify?: Verify): Promise<void> {\n',
    tests: STEPS,
    note: 'a file is set aside without a lock',
  },
  {
    id: 'WO34',
    file: ORDER,
    find: `await freeQuarantineName(this.#backend, name));
    await this.#backend.barrier();
`,
    replace: 'await freeQuarantineName(this.#backend, name));\n',
    tests: STEPS,
    note: 'a file that was set aside is back after a power cut',
  },
  {
    id: 'WO35',
    file: ORDER,
    find: `    } finally {
      // Also after a failure: a compaction by another process would rely on the names that were moved.
      await this.#backend.barrier();
    }
    return deletedIds;`,
    replace: `    } catch (error) {
      throw error;
    }
    await this.#backend.barrier();
    return deletedIds;`,
    tests: STEPS,
    note: 'a delete that fails halfway leaves names that a power cut undoes',
  },
  {
    id: 'WO36',
    file: 'core/repository/moves.ts',
    find: '    if (!isVerified || index >= backend.readsAtOnce) await verify?.();\n',
    replace: '',
    tests: STEPS,
    note: 'a removal goes on without its lock',
  },
  {
    id: 'WO42',
    file: 'core/repository/moves.ts',
    find: 'await bothOf(backend.barrier(), isSure ? verify!() : Promise.resolve());',
    replace: 'await backend.barrier();',
    tests: STEPS,
    note: 'on another machine, a removal goes on with its next group without its lock',
  },
  {
    id: 'WO37',
    file: FILES,
    find: '    else await writer.sync();\n',
    replace: '',
    tests: ['core/backend/file-system-backend'],
    note: 'the bytes of a file are not synced before it gets its name',
  },
  {
    id: 'WO38',
    file: FILES,
    find: `    if (!this.isFar) await verify?.();
    await this.#renameInto(name, target, isNew, along);`,
    replace: `    await this.#renameInto(name, target, isNew, along);
    if (!this.isFar) await verify?.();`,
    tests: ['core/backend/file-system-backend'],
    note: 'the lock is verified after the name has appeared',
  },
  {
    id: 'WO39',
    file: FILES,
    find: '    if (!this.isFar) this.#markUnsynced(directoryOf(target));\n',
    replace: '',
    tests: ['core/backend/file-system-backend'],
    note: 'new names are never made durable',
  },
  {
    id: 'WO40',
    file: FILES,
    find: `    await this.#renameInto(source, target);
    if (!this.isFar) this.#markUnsynced(directoryOf(source));
`,
    replace: `    if (!this.isFar) this.#markUnsynced(directoryOf(source));
    await this.#renameInto(source, target);
`,
    tests: ['core/backend/file-system-backend'],
    note: 'after a move, the old directory is synced before the new one',
  },
  {
    id: 'WO41',
    file: FILES,
    find: '    if (wasThere) this.#markUnsynced(directoryOf(name));\n',
    replace: '',
    tests: ['core/backend/file-system-backend'],
    note: 'removals are never made durable',
  },
];
