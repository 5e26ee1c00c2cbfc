import { beforeEach } from 'vitest';

import { useCeph } from '../../support/ceph-server.ts';
import type { CephServer } from '../../support/ceph-server.ts';

const ceph = useCeph();

beforeEach(({ skip }) => skip(ceph.problem !== undefined, ceph.problem));

export const server: () => CephServer = ceph.server;
