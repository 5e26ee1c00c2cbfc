import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';

import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { packName } from '../../src/core/format/layout.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { textOf } from '../../src/core/util/byte-string.ts';
import type { ByteString } from '../../src/core/util/byte-string.ts';
import { answerTicket, attachmentOf } from '../../src/ui/server/answers/ticket.ts';
import { CurrentRepository } from '../../src/ui/server/current-repository.ts';
import type { Download } from '../../src/ui/server/downloads.ts';
import { Tickets } from '../../src/ui/server/tickets.ts';
import { dump } from '../../src/verbs/dump/dump.ts';
import { CountingBackend } from '../support/counting-backend.ts';
import { createPrng } from '../support/prng.ts';
import { testProperty } from '../support/property.ts';
import { filesOf, makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { keyOf, servePage } from './support.ts';
import type { RawAnswer, ServedPage } from './support.ts';

const MIB = 1024 * 1024;

async function ticketFor(page: ServedPage, path: string, format = 'file'): Promise<string> {
  const { id } = await page.ask('timeline');
  return (await page.ask('ticket', { snapshot: id, path: keyOf(path), format })).ticket;
}

/** Begins and ends as a browser does, without the token. */
async function downloadOf(page: ServedPage, path: string, format?: string): Promise<RawAnswer> {
  return await page.raw(`/download/${await ticketFor(page, path, format)}`);
}

async function makeSaved(content: string | Uint8Array = 'content'): Promise<TestRepository> {
  const repository = await makeTestRepository();
  mkdirSync(join(repository.source, 'in/deep'), { recursive: true });
  writeFileSync(join(repository.source, 'in/file.html'), content);
  writeFileSync(Buffer.from(`${repository.source}/in/deep/caf\xe9`, 'latin1'), '<script>alert(1)</script>');
  await repository.backup();
  return repository;
}

describe('a download', () => {
  it('has the bytes of a file, never to be opened as what it may be', async () => {
    const page = await servePage((await makeSaved('<script>alert(1)</script>')).context);
    const { status, headers, body } = await downloadOf(page, 'source/in/file.html');
    expect([status, body.toString()]).toEqual([200, '<script>alert(1)</script>']);
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '25',
      'content-disposition': `attachment; filename="file.html"; filename*=UTF-8''file.html`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining("default-src 'none'") as string,
      'cache-control': 'no-store',
    });
    const odd = await downloadOf(page, 'source/in/deep/caf\xe9');
    expect(odd.headers['content-disposition']).toBe(`attachment; filename="caf_"; filename*=UTF-8''caf%EF%BF%BD`);
    expect(odd.headers['content-type']).toBe('application/octet-stream');
  });

  it.each(['tar', 'zip'] as const)('has a directory as the %s archive that `ldm dump` writes', async (format) => {
    const { context } = await makeSaved();
    const page = await servePage(context);
    const dumped = async (path: string): Promise<Buffer> => {
      const pieces: Uint8Array[] = [];
      const write = (bytes: Uint8Array): undefined => void pieces.push(bytes);
      await dump(context, { selector: `latest:${path}`, format, write });
      return Buffer.concat(pieces);
    };
    const { headers, body } = await downloadOf(page, 'source/in', format);
    expect(Buffer.compare(body, await dumped('source/in'))).toBe(0);
    expect(headers['content-type']).toBe(format === 'zip' ? 'application/zip' : 'application/x-tar');
    expect(headers['content-disposition']).toContain(`filename="in.${format}"`);
    expect(headers['x-content-type-options']).toBe('nosniff');
    const whole = await downloadOf(page, '', format);
    expect(Buffer.compare(whole.body, await dumped(''))).toBe(0);
    expect(whole.headers['content-disposition']).toMatch(/^attachment; filename="snapshot-[0-9a-f]{8}\.(tar|zip)"/);
  });

  it('needs a ticket, which is good once, and not for other sites or requests', async () => {
    const page = await servePage((await makeSaved()).context);
    const ticket = await ticketFor(page, 'source/in/file.html');
    const address = `/download/${ticket}`;
    expect((await page.raw(address, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await page.raw(address, { host: `evil.example:${page.port}` })).status).toBe(403);
    for (const method of ['HEAD', 'POST']) expect((await page.raw(address, {}, method)).status).toBe(405);
    const both = await Promise.all([page.raw(address), page.raw(address)]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404]);
    const used = await page.raw(address, { authorization: `Bearer ${page.token}` });
    expect(used).toMatchObject({ status: 404, headers: { 'content-type': 'application/json; charset=utf-8' } });
    for (const wrong of ['x', page.token, `${ticket}x`])
      expect((await page.raw(`/download/${wrong}`)).status).toBe(404);
  });

  it('of something else than was asked for is refused before there is a ticket', async () => {
    const page = await servePage((await makeSaved()).context);
    for (const [path, format] of [
      ['source/in', 'file'],
      ['source/in/file.html', 'zip'],
      ['source/in', 'exe'],
      ['source/in', ''],
    ] as const)
      await expect(ticketFor(page, path, format), `${path} ${format}`).rejects.toThrow('400');
    await expect(ticketFor(page, 'source/none')).rejects.toThrow('404');
  });

  it('whose snapshot has been deleted meanwhile fails, and so does one that is damaged, which never looks whole', async () => {
    const repository = await makeSaved(createPrng(1).bytes(6 * MIB));
    const { context } = repository;
    const page = await servePage(context);
    const tickets = [await ticketFor(page, 'source/in/file.html'), await ticketFor(page, 'source/in', 'tar')];
    spoilEnd(repository);
    for (const ticket of tickets) await expect(page.raw(`/download/${ticket}`)).rejects.toThrow();
    // The browser can only say that it failed, so the terminal says why.
    expect(page.failures.map(String)).toEqual([
      expect.stringContaining('CorruptDataError'),
      expect.stringContaining('cannot read file.html'),
    ]);
    const { id } = await page.ask('timeline');
    const last = await ticketFor(page, 'source/in/deep', 'tar');
    await deleteSnapshots(context, { selectors: [id] });
    // Changes are noticed after two seconds.
    const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 3000);
    onTestFinished(() => now.mockRestore());
    expect((await page.ask('timeline')).id).toBe('');
    expect((await page.raw(`/download/${last}`)).status).toBe(404);
  });

  it('that the browser stops ends the reading, which is never far ahead', async () => {
    const { context } = await makeSaved(createPrng(2).bytes(48 * MIB));
    const backend = new CountingBackend(context.backend);
    const repository = new CurrentRepository({ ...context, backend });
    onTestFinished(async () => repository.close());
    const [listing] = await repository.read(async ({ snapshots }) => snapshots);
    for (const [path, format] of [
      ['source/in/file.html', 'file'],
      ['source', 'tar'],
      ['source', 'zip'],
    ] as const) {
      const tickets = new Tickets<Download>();
      const asked = new URLSearchParams({ snapshot: listing!.id, path: keyOf(path), format });
      const { ticket } = await answerTicket(repository, tickets, asked);
      const before = backend.bytesReadIn('packs');
      const stopped = tickets.redeem(ticket)!(async (_, content) => {
        for await (const piece of content) throw new Error(`stopped after ${(piece as Buffer).length}`);
      }, new AbortController().signal);
      await expect(stopped, format).rejects.toThrow(/stopped after [1-9]/);
      // Nothing goes on after that.
      expect(backend.bytesReadIn('packs') - before, format).toBeLessThan(30 * MIB);
    }
  });

  it.each(['tar', 'zip'])('as a %s that is not taken any more leaves nothing behind', async (format) => {
    const page = await servePage((await makeSaved(createPrng(3).bytes(24 * MIB))).context, 500);
    const path = `/download/${await ticketFor(page, 'source', format)}`;
    await new Promise<void>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: page.port, path }, (response) => {
        response.once('data', () => {
          response.destroy();
          resolve();
        });
      });
      sent.on('error', reject);
      sent.end();
    });
    expect((await downloadOf(page, 'source/in/deep/caf\xe9')).status).toBe(200);
    expect(page.failures).toEqual([]);
    // The server would not be idle while an archive is written.
    await page.ended();
  });
});

/** Damages the end of the largest pack. */
function spoilEnd(repository: TestRepository): void {
  const paths = filesOf(repository, 'packs').map((id) => join(repository.directory, 'repository', packName(id)));
  const [largest] = paths
    .map((path) => ({ path, bytes: readFileSync(path) }))
    .toSorted((a, b) => b.bytes.length - a.bytes.length);
  chmodSync(largest!.path, 0o600);
  writeFileSync(largest!.path, largest!.bytes.fill(0, 5 * MIB, 5.5 * MIB));
}

describe('a ticket', () => {
  it('expires after a minute, and is followed by at most a hundred others', () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1000);
    onTestFinished(() => now.mockRestore());
    const tickets = new Tickets<number>();
    const first = tickets.issue(1);
    const second = tickets.issue(2);
    now.mockReturnValue(60_999);
    expect(tickets.redeem(first)).toBe(1);
    now.mockReturnValue(61_000);
    expect(tickets.redeem(second)).toBeUndefined();
    const issued = Array.from({ length: 101 }, (_, number) => tickets.issue(number));
    expect(issued.map((ticket) => tickets.redeem(ticket))).toEqual([
      undefined,
      ...Array.from({ length: 100 }, (_, number) => number + 1),
    ]);
  });
});

describe('the name of a download', () => {
  testProperty('is one line of ASCII that says the name again, whatever bytes it has', (check) =>
    check(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
        const name = textOf(Buffer.from(bytes).toString('latin1') as ByteString);
        const header = attachmentOf(name);
        const [, ascii, encoded] = /^attachment; filename="([ -~]*)"; filename\*=UTF-8''([\w!#$&+.^`|~%-]*)$/.exec(
          header,
        )!;
        expect(ascii).not.toMatch(/["\\%/]/);
        const decoded = decodeURIComponent(encoded!);
        expect(decoded).not.toMatch(/[\p{Cc}\p{Cf}/\\]/u);
        // Only what could mislead is another character.
        expect(Array.from(decoded)).toHaveLength(Array.from(name).length);
        const differing = Array.from(name).filter((character, index) => character !== Array.from(decoded)[index]);
        expect(differing.join('')).toMatch(/^[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029/\\]*$/u);
      }),
      { numRuns: 500 },
    ),
  );
});
