import { defineConfig, type ViteUserConfig } from 'vitest/config';

/** Makes the repositories of fixtures/repositories that do not exist yet. See the README there. */
const config: ViteUserConfig = defineConfig({
  test: {
    environment: 'node',
    globalSetup: ['test/support/ensure-built.ts'],
    include: ['test/support/frozen/make-frozen.ts'],
    setupFiles: ['test/support/cheap-passwords.ts'],
    pool: 'forks',
    testTimeout: 300_000,
  },
});

export default config;
