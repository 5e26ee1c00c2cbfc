export const bugs = [
  {
    id: 'C1',
    file: 'core/snapshots/copies-there.ts',
    find: 'if (destination.damage.isWhole) return;',
    replace: 'return;',
    tests: ['verbs/copy/damage'],
    note: 'a damaged copy of a snapshot counts as one: it is not copied again',
  },
  {
    id: 'C2',
    file: 'core/snapshots/copies-there.ts',
    find: `if (!isDamage(error)) throw error;
      }
    }
    return undefined;`,
    replace: `if (!isDamage(error)) throw error;
        return undefined;
      }
    }
    return undefined;`,
    tests: ['verbs/copy/damage'],
    note: 'a snapshot of which only the second copy is left is copied twice',
  },
  {
    id: 'C3',
    file: 'verbs/copy/copy-commits.ts',
    find: `    await copies.refresh();
`,
    replace: '',
    tests: ['verbs/copy/concurrency'],
    note: 'what another process has copied meanwhile is copied twice',
  },
  {
    id: 'C4',
    file: 'verbs/copy/copy-commits.ts',
    find: 'original: originalIdOf(snapshot),',
    replace: 'original: snapshot.id,',
    tests: ['verbs/copy/kept-members'],
    note: 'the copy of a copy does not name the first original: it is copied again',
  },
  {
    id: 'C5',
    file: 'verbs/copy/copy-commits.ts',
    find: 'const { parent, replaces: _, hold: _hold, reliesOn: _reliesOn, ...members } = snapshot.snapshot;',
    replace: 'const { parent, replaces: _, reliesOn: _reliesOn, ...members } = snapshot.snapshot;',
    tests: ['realm/lending/holds'],
    note: 'a hold is copied, and keeps data for a domain that does not rely on it',
  },
  {
    id: 'C6',
    file: 'verbs/copy/chunk-copier.ts',
    find: 'if (!isSameCut || this.#ids.has(entry)) continue;',
    replace: 'if (this.#ids.has(entry)) continue;',
    tests: ['verbs/copy/chunk-copier'],
    note: 'a file that was cut differently there is taken for one that is there: chunks are missing',
  },
];
