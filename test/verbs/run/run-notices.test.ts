import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

import { formatMail } from '../../../src/verbs/run/notices.ts';
import { HOME, setRunStage } from '../../support/run-stage.ts';

/** Starts a server on this machine. Returns its address. */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server of pings that remembers the paths and texts that it got. */
async function pingServer(): Promise<{ readonly url: string; readonly pings: string[] }> {
  const pings: string[] = [];
  const url = await serve((request, response) => {
    let text = '';
    request.on('data', (bytes: Buffer) => (text += bytes.toString()));
    request.on('end', () => {
      pings.push(`${request.method} ${request.url} ${text.replace(/ \(.*/, '')}`);
      response.end('OK');
    });
  });
  return { url, pings };
}

it('a ping says that a run begins, and how it ended', async () => {
  const { url, pings } = await pingServer();
  const { place, ldm } = await setRunStage(`${HOME}[profiles.home.run]\nping = "${url}/uuid/?x=1"\n`);
  expect(await ldm('run', 'home')).toMatchObject({ code: 0, stderr: '' });
  rmSync(join(place, 'source'), { recursive: true });
  await ldm('run', 'home');
  expect(pings).toEqual([
    'POST /uuid/start?x=1 ',
    'POST /uuid/?x=1 success',
    'POST /uuid/start?x=1 ',
    expect.stringMatching(/^POST \/uuid\/fail\?x=1 failed: nothing to back up/),
  ]);
});

it.each<[string, RequestListener, string]>([
  ['refuses', (_, response) => response.writeHead(500).end(), 'status 500'],
  ['redirects for ever', (_, response) => response.writeHead(302, { location: '/again' }).end(), 'failed: '],
  ['closes the connection', ({ socket }) => socket.destroy(), 'failed: '],
])('a server of pings that %s is reported and changes nothing', async (_, answer, problem) => {
  const url = await serve(answer);
  const { ldm, runs } = await setRunStage(`${HOME}[profiles.home.run]\nping = "${url}/secret"\n`);
  const { code, stderr } = await ldm('run', 'home');
  expect([code, stderr]).toEqual([0, expect.stringContaining(problem)]);
  expect(stderr).toContain(`ldm: warning: home: the ping to ${url} failed`);
  expect(stderr).not.toContain('secret');
  expect(runs()).toMatchObject([{ result: 'success' }]);
});

it('mail is sent after a failure, and after the first success since then', async () => {
  const stage = await setRunStage(`${HOME}[profiles.home.run]\nmail = "admin"\nafter = [note(run)]\n`);
  const { place, env, ldm } = stage;
  const mails = (): string[] =>
    existsSync(join(place, 'mails')) ? readFileSync(join(place, 'mails'), 'utf8').split('--end\n').slice(0, -1) : [];
  writeFileSync(join(place, 'sendmail'), `#!/bin/sh\n{ echo "args $*"; cat; echo --end; } >> ${place}/mails\n`);
  chmodSync(join(place, 'sendmail'), 0o755);
  env['PATH'] = `${place}:${process.env['PATH']}`;
  await ldm('run', 'home');
  expect(mails()).toEqual([]);
  const config = join(place, 'config', 'ldm', 'config.toml');
  const working = readFileSync(config, 'utf8');
  writeFileSync(config, working.replace('/source"', '/nosuch"'));
  await ldm('run', 'home');
  writeFileSync(config, working);
  for (let round = 0; round < 2; round += 1) expect(await ldm('run', 'home')).toMatchObject({ code: 0, stderr: '' });
  const [failed, works, ...others] = mails();
  expect(others).toEqual([]);
  expect(failed).toMatch(/^args -t -oi\nTo: admin\nSubject: ldm on \S+: home failed\n[^]*\n\n[^]*nothing to back up/);
  expect(works).toMatch(/\nSubject: ldm on \S+: home works again\n/);
});

it('a missing or failing sendmail is reported', async () => {
  const { place, env, ldm } = await setRunStage(
    `${HOME}[profiles.home.run]\nmail = "root"\nsteps = ["check", "copy"]\n`,
  );
  writeFileSync(join(place, 'sendmail'), '#!/bin/sh\nexit 75\n');
  chmodSync(join(place, 'sendmail'), 0o755);
  env['PATH'] = `${place}:${process.env['PATH']}`;
  const { code, stderr } = await ldm('run', 'home');
  expect([code, stderr]).toEqual([2, expect.stringContaining('home: no mail was sent: exit code 75 of sendmail')]);
});

it('the subject of a mail is ASCII, whatever the name of the profile is', () => {
  const run = { id: 'x', start: '2026-01-31T12:00:00Z', result: 'failed', steps: [] } as const;
  const [, subject] = /^Subject: (.*)$/m.exec(formatMail('böse\nBcc: x', 'host', 'root', run, 'text')) ?? [];
  expect(subject).toBe('=?UTF-8?Q?ldm=20on=20host=3A=20b=C3=B6se=0ABcc=3A=20x=20failed?=');
});
