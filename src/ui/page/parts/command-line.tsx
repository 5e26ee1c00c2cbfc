import type { VNode } from 'preact';
import { useState } from 'preact/hooks';

/** A command to copy: the page changes nothing itself. */
export function CommandLine({ label, command }: { label: string; command: string }): VNode {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(command);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <div class="command" role="group" aria-label={label}>
      <code>{command}</code>
      <button type="button" onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}
