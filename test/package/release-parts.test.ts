import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';

import { missingTools } from '../support/tools.ts';
import { ROOT } from './installed-package.ts';

interface Bill {
  readonly serialNumber: string;
  readonly metadata: { readonly timestamp: string; readonly component: { readonly 'bom-ref': string } };
  readonly components: readonly {
    readonly 'bom-ref': string;
    readonly name: string;
    readonly externalReferences?: readonly { readonly type: string }[];
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

type MakeBill = (given: {
  readonly root: string;
  readonly version: string;
  readonly nodeVersion: string;
  readonly seconds: number;
}) => Bill;

const GIVEN = { root: ROOT, version: '0.1.0', nodeVersion: '26.0.0', seconds: 1_790_000_000 };

describe('the bill of materials', () => {
  const missing = missingTools('npm');
  let makeBill: MakeBill;
  let bill: Bill;
  beforeAll(async () => {
    if (missing !== '') return;
    ({ billOfMaterials: makeBill } = (await import(join(ROOT, 'tools/release/sbom.mjs'))) as {
      readonly billOfMaterials: MakeBill;
    });
    bill = makeBill(GIVEN);
  });

  it('has what is installed, what is bundled, and Node, but no other systems', ({ skip }) => {
    skip(missing !== '', missing);
    const names = bill.components.map(({ name }) => name);
    const document = readFileSync(join(ROOT, 'docs/third-party.md'), 'utf8');
    const bundled = [...document.matchAll(/^## (.*)$/gm)].flatMap(([, heading]) => heading!.split(', '));
    expect(bundled.length).toBeGreaterThan(10);
    expect(names).toEqual(
      expect.arrayContaining(['koffi', 'node', ...bundled.map((text) => text.replace(/ [^ ]+$/, ''))]),
    );
    expect(names.filter((name) => /vitest|win32|darwin|android|linuxmusl/.test(name))).toEqual([]);
    expect(new Set(bill.components.map((each) => each['bom-ref'])).size).toBe(bill.components.length);
  });

  it('refers only to what it has, and to no place from which a package came', ({ skip }) => {
    skip(missing !== '', missing);
    const known = new Set([bill.metadata.component['bom-ref'], ...bill.components.map((each) => each['bom-ref'])]);
    const named = bill.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
    expect(named.filter((ref) => !known.has(ref))).toEqual([]);
    const types = bill.components.flatMap(({ externalReferences = [] }) => externalReferences.map(({ type }) => type));
    expect(types).not.toContain('distribution');
  });

  it('is the same for the same commit at any time', ({ skip }) => {
    skip(missing !== '', missing);
    expect(bill.metadata.timestamp).toBe(new Date(GIVEN.seconds * 1000).toISOString());
    vi.useFakeTimers({ now: Date.now() + 86_400_000, toFake: ['Date'] });
    try {
      expect(makeBill(GIVEN)).toEqual(bill);
    } finally {
      vi.useRealTimers();
    }
    const serial = /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/;
    expect(bill.serialNumber).toMatch(serial);
  });
});

describe('the Dockerfile', () => {
  const text = readFileSync(join(ROOT, 'tools/release/Dockerfile'), 'utf8').replaceAll('\\\n', '');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

  it('installs and removes the package that it copies, whose name is that of the release', () => {
    const [, source, target] = /^COPY (\S+) (\S+)$/m.exec(text)!;
    const release = readFileSync(join(ROOT, 'tools/release/debian.mjs'), 'utf8');
    const [, name] = /join\(output, `(.*\.deb)`\)/.exec(release)!;
    expect(source).toBe(name!.replace('${version}', '${VERSION}').replace('${debian}', '${TARGETARCH}'));
    const run = lines.find((line) => line.startsWith('RUN '))!;
    expect(run.split(' && ').map((command) => command.trim())).toEqual([
      expect.stringContaining('/etc/dpkg/dpkg.cfg.d/ldm'),
      'apt-get update',
      expect.stringMatching(new RegExp(`^apt-get install --yes --no-install-recommends ${target} `)),
      expect.stringContaining(`rm -rf ${target} /var/lib/apt/lists/*`),
    ]);
  });

  it('needs only the version, and starts ldm', () => {
    expect(lines.filter((line) => line.startsWith('ARG '))).toEqual(['ARG VERSION', 'ARG TARGETARCH=amd64']);
    expect(lines[0]).toMatch(/^FROM debian:/);
    expect(lines.at(-1)).toBe('ENTRYPOINT ["ldm"]');
    expect(lines.findIndex((line) => line.startsWith('ARG '))).toBeLessThan(
      lines.findIndex((line) => line.startsWith('COPY ')),
    );
  });
});
