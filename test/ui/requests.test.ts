import { writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { RefusedError } from '../../src/core/errors.ts';
import { startUi } from '../../src/ui/server/start-ui.ts';
import { Tickets } from '../../src/ui/server/tickets.ts';
import { UiServer } from '../../src/ui/server/ui-server.ts';
import { servePage } from './support.ts';

async function makeSaved(): Promise<TestRepository> {
  const repository = await makeTestRepository();
  writeFileSync(join(repository.source, 'file'), 'content');
  await repository.backup();
  return repository;
}

describe('a request to the page', () => {
  it('gets an answer with the token, and none without it', async () => {
    const page = await servePage((await makeSaved()).context);
    const { snapshots } = await page.ask('snapshots');
    expect(snapshots).toHaveLength(1);
    const wrong = [undefined, '', 'Bearer', 'Bearer ', `Bearer ${page.token}x`, `bearer ${page.token}`, page.token];
    for (const authorization of wrong) {
      const { status, body } = await page.raw('/api/snapshots', authorization === undefined ? {} : { authorization });
      expect([authorization, status]).toEqual([authorization, 401]);
      expect(body.toString()).not.toContain(snapshots[0]!.id);
    }
    // In an address, it would be in the history of the browser and in the log of a proxy.
    expect((await page.raw(`/api/snapshots?token=${page.token}`)).status).toBe(401);
  });

  it('is refused if it names another host, comes from another site, or would change something', async () => {
    const page = await servePage((await makeSaved()).context);
    const authorization = `Bearer ${page.token}`;
    const statusOf = async (headers: Record<string, string>, method = 'GET'): Promise<number> =>
      (await page.raw('/api/snapshots', { authorization, ...headers }, method)).status;
    for (const host of [
      'evil.example',
      `evil.example:${page.port}`,
      '127.0.0.1',
      `127.0.0.1.evil.example:${page.port}`,
    ])
      expect([host, await statusOf({ host })]).toEqual([host, 403]);
    expect(await statusOf({ host: `localhost:${page.port}` })).toBe(200);
    expect(await statusOf({ origin: 'http://evil.example' })).toBe(403);
    expect(await statusOf({ origin: 'null' })).toBe(403);
    expect(await statusOf({ origin: `http://127.0.0.1:${page.port}` })).toBe(200);
    const visit = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    for (const site of ['cross-site', 'same-site']) {
      expect(await statusOf({ 'sec-fetch-site': site })).toBe(403);
      expect(await statusOf({ 'sec-fetch-site': site, ...visit })).toBe(403);
      // A link to the page may be anywhere, such as in the file that opens the browser.
      expect((await page.raw('/', { 'sec-fetch-site': site, ...visit })).status).toBe(200);
      expect((await page.raw('/', { 'sec-fetch-site': site, ...visit, 'sec-fetch-dest': 'iframe' })).status).toBe(403);
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      expect([method, await statusOf({}, method)]).toEqual([method, 405]);
    expect(page.failures).toEqual([]);
  });

  it('is not answered on another address of this machine', async () => {
    const page = await servePage((await makeSaved()).context);
    const failed = await new Promise<Error>((resolve) => {
      createConnection({ host: '127.0.0.2', port: page.port }).once('error', resolve);
    });
    expect(failed.message).toContain('ECONNREFUSED');
  });

  it('gets headers that keep scripts, frames and caches away', async () => {
    const page = await servePage((await makeSaved()).context);
    const authorization = `Bearer ${page.token}`;
    for (const path of ['/', '/page.js', '/page.css', '/icon.svg', '/api/snapshots', '/api/nothing', '/download/x']) {
      const { headers } = await page.raw(path, { authorization });
      const policy = headers['content-security-policy'];
      expect(policy, path).toContain("default-src 'none'");
      expect(policy, path).toContain("frame-ancestors 'none'");
      expect(policy, path).not.toMatch(/unsafe|https?:|\*/);
      expect(headers['x-content-type-options'], path).toBe('nosniff');
      expect(headers['cache-control'], path).toBe('no-store');
      expect(headers['access-control-allow-origin'], path).toBeUndefined();
    }
  });

  it('for the files of the page needs no token, and finds no other file', async () => {
    const page = await servePage((await makeSaved()).context);
    expect((await page.raw('/')).body.toString()).toContain('<div id="page">');
    const elsewhere = [
      '/page.js.map',
      '/../index.js',
      '/%2e%2e/index.js',
      '/..%2findex.js',
      '/__proto__',
      '/constructor',
    ];
    for (const path of [...elsewhere, '//page.js', '/api/', '/api/__proto__', '/api/constructor', '/download/']) {
      const { status } = await page.raw(path, { authorization: `Bearer ${page.token}` });
      expect([path, status]).toEqual([path, 404]);
    }
    expect(page.failures).toEqual([]);
  });

  it('that is damaged ends its connection, and the page goes on', async () => {
    const page = await servePage((await makeSaved()).context);
    const garbage = [
      '\0\x01\x02\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      'GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET /\r\n\r\n',
    ];
    for (const bytes of garbage) {
      await new Promise<void>((resolve) => {
        const socket = createConnection({ host: '127.0.0.1', port: page.port }, () => socket.write(bytes));
        socket.on('data', () => undefined);
        socket.on('error', () => undefined);
        socket.on('close', () => resolve());
        socket.end();
      });
    }
    const host = `127.0.0.1:${page.port}`;
    const authorization = `Bearer ${page.token}`;
    for (const path of [
      '//',
      '/?',
      '/api/snapshots?%zz',
      '/api/freed?ids=%00',
      `/api/freed?ids=${'a,'.repeat(50_000)}`,
    ]) {
      expect((await page.raw(path, { host, authorization })).status, path.slice(0, 40)).toBeLessThan(500);
    }
    expect(await page.ask('snapshots')).toMatchObject({ snapshots: [{ host: expect.any(String) as string }] });
    expect(page.failures).toEqual([]);
  });

  it('that fails in a way that cannot even be reported ends alone', async () => {
    let reports = 0;
    const onFailure = (): void => {
      reports += 1;
      if (reports === 1) throw new Error('the terminal is gone');
    };
    const fail = async (): Promise<never> => await Promise.reject(new Error('no answer'));
    const answers = new Map([
      ['wrong', fail],
      ['right', async () => ({ isRight: true })],
    ]);
    const server = await UiServer.start({ answers, downloads: new Tickets(), port: 0, idleMs: 0, onFailure });
    onTestFinished(() => server.close());
    const { origin, hash } = new URL(server.address);
    const ask = async (name: string): Promise<Response> =>
      await fetch(`${origin}/api/${name}`, { headers: { authorization: `Bearer ${hash.slice(1)}` } });
    await expect(ask('wrong')).rejects.toThrow('fetch failed');
    expect(await (await ask('right')).json()).toEqual({ isRight: true });
    expect((await ask('wrong')).status).toBe(500);
    expect(reports).toBe(3);
  });

  it('about a snapshot of another repository, or about none, is refused', async () => {
    const page = await servePage((await makeSaved()).context);
    const other = await servePage((await makeSaved()).context);
    const [theirs] = (await other.ask('snapshots')).snapshots;
    await expect(page.ask('freed', { ids: theirs!.id })).rejects.toThrow('404');
    for (const ids of ['latest', 'ffff', '../../config', '%2e%2e', 'a'.repeat(15), 'a'.repeat(65)])
      await expect(page.ask('freed', { ids }), ids).rejects.toThrow('400');
    expect(await page.ask('freed', { ids: '' })).toMatchObject({ storedBytes: 0 });
    const many = Array.from({ length: 25_000 }, (_, number) => number.toString(16).padStart(16, '0'));
    await expect(page.ask('freed', { ids: many.join(',') })).rejects.toThrow('404: no snapshot id begins with');
  });
});

describe('the server of the page', () => {
  it('says why it cannot use a port', async () => {
    const { context } = await makeSaved();
    const { port } = await servePage(context);
    const onFailure = (): void => undefined;
    const started = startUi({ context, command: 'ldm', port, idleMs: 0, onFailure });
    await expect(started).rejects.toThrow(RefusedError);
  });

  it('ends after its idle time', async () => {
    const page = await servePage((await makeSaved()).context, 1);
    await page.ended();
    await expect(page.ask('snapshots')).rejects.toThrow('ECONNREFUSED');
  });

  it('has another secret each time, which no answer contains', async () => {
    const { context } = await makeSaved();
    const pages = [await servePage(context), await servePage(context)];
    expect(pages[0]!.token).not.toBe(pages[1]!.token);
    expect(pages[0]!.token.length).toBeGreaterThanOrEqual(32);
    const authorization = `Bearer ${pages[0]!.token}`;
    for (const path of ['/', '/page.js', '/api/repository', '/api/snapshots', '/api/nothing'])
      expect((await pages[0]!.raw(path, { authorization })).body.toString()).not.toContain(pages[0]!.token);
    await expect(pages[1]!.raw('/api/snapshots', { authorization })).resolves.toMatchObject({ status: 401 });
  });
});
