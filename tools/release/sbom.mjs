// The bill of materials, in the format CycloneDX: what npm says about the lock file, without what is only for development
// and without other systems, but with Node and the packages whose code is bundled in dist.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const OTHER_SYSTEM = /-(android|darwin|freebsd|openbsd|win32|linuxmusl)-/;

export function billOfMaterials({ root, version, nodeVersion, seconds }) {
  const all = bill(root, []);
  const bundled = bundledPackages(root);
  const kept = new Set([...bill(root, ['--omit=dev']).components.map((each) => each['bom-ref']), ...bundled]);
  const isKept = (reference) => kept.has(reference) && !OTHER_SYSTEM.test(reference);
  const components = all.components.filter((each) => isKept(each['bom-ref'])).map(cleaned);
  const missing = bundled.filter((reference) => !components.some((each) => each['bom-ref'] === reference));
  if (missing.length > 0) throw new Error(`npm sbom does not know ${missing.join(', ')}`);
  const node = { 'bom-ref': `node@${nodeVersion}`, type: 'platform', name: 'node', version: nodeVersion };
  const product = all.metadata.component['bom-ref'];
  const dependencies = all.dependencies
    .filter(({ ref }) => ref === product || isKept(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isKept) }));
  const { $schema, bomFormat, specVersion, metadata } = all;
  const content = {
    metadata: {
      timestamp: new Date(seconds * 1000).toISOString(),
      tools: metadata.tools,
      component: { ...metadata.component, name: 'ldm-backup', version, type: 'application', properties: [] },
    },
    // Only the executables and the packages for Debian have it.
    components: [...components, { ...node, scope: 'optional', licenses: [{ license: { id: 'MIT' } }] }],
    dependencies,
  };
  return { $schema, bomFormat, specVersion, serialNumber: serialNumber(content), version: 1, ...content };
}

function bill(root, options) {
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--silent', ...options];
  return JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 }));
}

/** The headings of the document that a test compares with the build. */
function bundledPackages(root) {
  const document = readFileSync(join(root, 'docs/third-party.md'), 'utf8');
  const headings = [...document.matchAll(/^## (.*)$/gm)].flatMap(([, packages]) => packages.split(', '));
  return headings.map((heading) => heading.replace(/ (?=[^ ]+$)/, '@'));
}

/** Where npm got a package is a fact about this machine. */
function cleaned({ externalReferences = [], ...component }) {
  const references = externalReferences.filter(({ type }) => type !== 'distribution');
  return references.length > 0 ? { ...component, externalReferences: references } : component;
}

/** Random, for npm; the same for the same content here. */
function serialNumber(content) {
  const digest = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  return `urn:uuid:${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}
