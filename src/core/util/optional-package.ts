import { MissingPackageError } from '../errors.ts';

/**
 * Packages that only some users need, with the versions of `peerDependencies` in package.json (a test compares them).
 */
const OPTIONAL_PACKAGES = {
  '@resvg/resvg-js': '^2.6.2',
  'dejavu-fonts-ttf': '^2.37.3',
  ioredis: '^6.0.0',
  lmdb: '^3.5.6',
  'node-zookeeper-client': '^1.1.3',
  vega: '^6.4.0',
} as const;

const LIST = new Intl.ListFormat('en');

type OptionalPackage = keyof typeof OPTIONAL_PACKAGES;

/** Part of the path where npm installs global packages. */
const GLOBAL_FOLDER = '/lib/node_modules/';
/** The folder of the program where it is not installed by npm: see tools/release. */
const OWN_FOLDER = '/ldm-program/';

/**
 * Creates the error for packages that cannot be loaded, with the command that installs them next to this program.
 * @param purpose - the feature that needs them, as the subject of a sentence
 */
export function missingPackageError(
  purpose: string,
  packages: readonly OptionalPackage[],
  cause: unknown,
): MissingPackageError {
  const verb = packages.length === 1 ? 'the package' : 'the packages';
  return new MissingPackageError(`${purpose} needs ${verb} ${LIST.format(packages)}, which cannot be loaded`, {
    hint: installHint(packages),
    cause,
  });
}

/** Loads a module that imports optional packages. */
export async function loadOptional<T>(
  purpose: string,
  packages: readonly OptionalPackage[],
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw missingPackageError(purpose, packages, cause);
  }
}

function installHint(packages: readonly OptionalPackage[]): string {
  const versioned = packages.map((name) => `'${name}@${OPTIONAL_PACKAGES[name]}'`).join(' ');
  if (import.meta.url.includes(OWN_FOLDER)) {
    return `Only an ldm that npm has installed can load it: npm install --global ldm-backup ${versioned}`;
  }
  const globally = import.meta.url.includes(GLOBAL_FOLDER) ? ' --global' : '';
  return `Install what is missing with: npm install${globally} ${versioned}`;
}
