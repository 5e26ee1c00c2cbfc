import { isAbsolute } from 'node:path';
import { UsageError } from '../../core/errors.ts';
import { loadOptional } from '../../core/util/optional-package.ts';
import type { Coordinator } from './coordinator.ts';
import { DirectoryCoordinator } from './directory-coordinator.ts';

interface OpenCoordinatorOptions {
  /** 64 hex digits. One ZooKeeper can serve several realms. */
  readonly realmId: string;
  readonly sessionTimeoutMs?: number | undefined;
  readonly deadlineMs?: number | undefined;
}

/** `zookeeper://host:port,host:port/path` */
const ZOOKEEPER = /^zookeeper:\/\/(?<servers>[^/\s@]+)(?<path>(?:\/[\w.-]+)*)\/?$/;
const DEFAULT_PORT = 2181;

/**
 * Opens the coordinator at a place: `zookeeper://host:port,.../path` or a directory. Nothing is accessed yet.
 * @throws UsageError if the place is neither
 * @throws MissingPackageError if the package for ZooKeeper is not installed
 */
export async function openCoordinator(place: string, options: OpenCoordinatorOptions): Promise<Coordinator> {
  if (isAbsolute(place)) return new DirectoryCoordinator(place);
  const { servers, path } = ZOOKEEPER.exec(place)?.groups ?? {};
  if (servers === undefined || !servers.split(',').every(isServer)) {
    throw new UsageError(`${place} is not the place of a coordinator`, {
      hint: 'Give it as zookeeper://host:port,host:port, or a directory.',
    });
  }
  const loaded = await loadOptional('a coordinator on ZooKeeper', ['node-zookeeper-client'], async () => {
    const module = await import('node-zookeeper-client');
    return 'default' in module ? (module.default as typeof module) : module;
  });
  const { ZooKeeperCoordinator } = await import('./zookeeper-coordinator.ts');
  const { realmId, sessionTimeoutMs, deadlineMs } = options;
  const withPorts = servers.split(',').map((server) => (/:\d+$/.test(server) ? server : `${server}:${DEFAULT_PORT}`));
  const root = `${path === '' ? '/ldm' : path}/${realmId}`;
  return new ZooKeeperCoordinator(loaded, { servers: withPorts.join(','), root, sessionTimeoutMs, deadlineMs });
}

function isServer(server: string): boolean {
  const [, port] = /^[^:]+(?::(\d{1,5}))?$/.exec(server) ?? [undefined, '0'];
  return port === undefined || (Number(port) > 0 && Number(port) < 65_536);
}
