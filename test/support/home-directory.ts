import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const CACHE_TAG = 'Signature: 8a477f597d28d172789f06886806bc55\n# This file is a cache directory tag.\n';

/** Names as they occur in the home directories of people, some of them in other scripts, or with spaces. */
const FILES = [
  '.bashrc',
  '.ssh/id_ed25519',
  '.config/Code/Cache/Cache_Data/data_0',
  '.config/Code/User/settings.json',
  '.config/google-chrome/Default/Cache/f_000001',
  '.config/google-chrome/Default/History',
  '.mozilla/firefox/ab12cd34.default/cache2/entries/0A1B2C',
  '.mozilla/firefox/ab12cd34.default/places.sqlite',
  '.cache/thumbnails/large/0a.png',
  '.cache/pip/http/0/1',
  '.local/share/Trash/files/old.txt',
  '.local/share/Steam/steamapps/common/game.bin',
  '.npm/_cacache/index-v5/00/aa',
  'Documents/Thesis/thesis.TEX',
  'Documents/Thesis/thesis.aux',
  'Documents/Thesis/Figures/plot (1).PDF',
  'Documents/Thesis/Figures/plot [final].pdf',
  'Documents/taxes/2024/Receipt #12.pdf',
  'Documents/Übersicht/ÄNDERUNG.txt',
  'Documents/Übersicht/Straße.doc~',
  'Documents/İstanbul/ΣΊΣΥΦΟΣ.txt',
  'Downloads/debian-12.iso',
  'Downloads/Film.MKV',
  'Downloads/film.mkv.part',
  'Music/AC_DC/01 - Track.MP3',
  'Pictures/2024/IMG_0001.JPG',
  'Pictures/2024/.thumbs/IMG_0001.jpg',
  'Pictures/2024/raw/IMG_0001.CR2',
  'Videos/@eaDir/Film.mkv/SYNOVIDEO.jpg',
  'src/app/node_modules/left-pad/index.js',
  'src/app/node_modules/.bin/tsc',
  'src/app/package.json',
  'src/app/build/out.o',
  'src/app/dist/app.js',
  'src/app/.git/config',
  'src/app/.git/objects/ab/cdef',
  'src/rust/target/debug/app',
  'src/rust/src/target.rs',
  'src/python/__pycache__/a.cpython-312.pyc',
  'src/python/a.py',
  'src/python/module$py.class',
  'src/python/.venv/bin/python',
  'src/build/keep/notes.md',
  'vm/disk.qcow2',
  'vm/.nobackup',
  'vm/config.xml',
  'scratch/.nobackup',
  'scratch/.nobackup.d/x',
  'scratch/deep/er/file.tmp',
  'scratch2/.nobackup',
  'scratch2/data',
  'tmp/a.tmp',
  'tmp/B.TMP',
  'tmp/!important.tmp',
  'tmp/new\nline.tmp',
  'tmp/#hash#',
] as const;

/** Writes a home directory with typical names, caches with and without their tag, and marker files. */
export function writeHomeDirectory(home: string): void {
  for (const [index, name] of FILES.entries()) write(home, name, 'x'.repeat(37 * (index % 30)));
  write(home, 'scratch/.nobackup', 'no backup here\n');
  write(home, 'scratch2/.nobackup', 'no\n');
  write(home, '.cache/CACHEDIR.TAG', CACHE_TAG);
  write(home, 'src/rust/target/CACHEDIR.TAG', CACHE_TAG);
  write(home, '.npm/CACHEDIR.TAG', 'Signature: something else');
  write(home, 'tmp/CACHEDIR.TAG', CACHE_TAG.slice(0, 20));
  mkdirSync(join(home, 'empty/Cache'), { recursive: true });
}

function write(home: string, name: string, content: string): void {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
