import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { EntryRow } from '../../../api/browse.ts';
import { ask } from '../../ask.ts';
import { useAnswer } from '../../parts/answered.tsx';
import { CommandLine } from '../../parts/command-line.tsx';
import { bytesOfKey, quoteBytes } from '../../parts/path-key.ts';
import { shortId } from '../../words.ts';
import type { Place } from './place.ts';

interface TakeawayProps {
  readonly place: Place;
  readonly entry: EntryRow;
}

/** Ways to get a file or directory: downloads, and commands that restore it. */
export function Takeaway({ place, entry }: TakeawayProps): VNode {
  const [failure, setFailure] = useState('');
  const download = (format: string) => () => {
    setFailure('');
    startDownload(place, format).catch((error: unknown) => setFailure(String(error)));
  };
  const command = useAnswer('repository', {}).value?.command ?? 'ldm';
  const path = bytesOfKey(place.path);
  const restored = `${command} restore ${quoteBytes(`${shortId(place.snapshot)}${path === '' ? '' : `:${path}`}`)}`;
  const name = path.split('/').at(-1)!;
  const target = entry.type === 'directory' ? quoteBytes(`./${name === '' ? 'restored' : name}`) : '.';
  const button = (format: string, text: string): VNode => (
    <button type="button" onClick={download(format)}>
      {text}
    </button>
  );
  return (
    <div class="takeaway">
      {entry.type === 'file' ? button('file', 'Download') : ''}
      {entry.type === 'directory' ? [button('zip', 'Download as zip'), button('tar', 'Download as tar')] : ''}
      <details>
        <summary>Restore</summary>
        <p>Into the current directory of the terminal:</p>
        <CommandLine label="Restore here" command={`${restored} --target ${target}`} />
        <p>Where it was, without replacing anything:</p>
        <CommandLine label="Restore where it was" command={`${restored} --original`} />
      </details>
      {failure === '' ? (
        ''
      ) : (
        <p class="problem" role="alert">
          {failure}
        </p>
      )}
    </div>
  );
}

async function startDownload(place: Place, format: string): Promise<void> {
  const { ticket } = await ask('ticket', { ...place, format });
  const anchor = document.createElement('a');
  anchor.href = `/download/${ticket}`;
  anchor.download = '';
  anchor.click();
}
