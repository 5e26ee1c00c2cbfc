import type { FileNode } from './file-node.ts';
import { ROOT_NODE_ID } from './protocol.ts';
import type { FuseEntry } from './replies.ts';
import type { ForgottenNode } from './requests.ts';

/** A day. */
const CONSTANT_SECONDS = 86_400;
/** So that a path is not looked up again for each file. */
const CHANGING_SECONDS = 1;

/** For how long the kernel uses what it knows of a node without asking again. */
export function validSecondsOf({ isConstant }: FileNode): number {
  return isConstant ? CONSTANT_SECONDS : CHANGING_SECONDS;
}

/** The nodes that the kernel knows, by the ids that it knows them by. An id is never used twice. */
export class NodeTable {
  readonly #nodes = new Map<number, FileNode>();
  #lastId = ROOT_NODE_ID;

  constructor(root: FileNode) {
    root.nodeId = ROOT_NODE_ID;
    root.lookupCount = 1;
    this.#nodes.set(ROOT_NODE_ID, root);
  }

  get(nodeId: number): FileNode | undefined {
    return this.#nodes.get(nodeId);
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** Counts a lookup of a node in a directory, and returns the answer to it. */
  entryOf(node: FileNode, directory: FileNode): FuseEntry {
    const attributes = node.attributes();
    if (node.lookupCount === 0) {
      this.#lastId += 1;
      node.nodeId = this.#lastId;
      this.#nodes.set(node.nodeId, node);
    }
    node.lookupCount += 1;
    const nameSeconds = validSecondsOf(directory);
    return { nodeId: node.nodeId, nameSeconds, validSeconds: validSecondsOf(node), attributes };
  }

  forget(forgotten: readonly ForgottenNode[]): void {
    for (const { nodeId, lookupCount } of forgotten) {
      const node = this.#nodes.get(nodeId);
      if (node === undefined || nodeId === ROOT_NODE_ID) continue;
      node.lookupCount -= lookupCount;
      if (node.lookupCount > 0) continue;
      node.lookupCount = 0;
      this.#nodes.delete(nodeId);
      node.forgotten();
    }
  }
}
