import base from './vitest.config.ts';
const names = process.env['ZZ']!.split(',');
export default { test: { ...base.test, projects: [{ extends: false, test: { ...base.test, projects: undefined, name: 'shared', include: names.map((n) => `test/integration/${n}.test.ts`), isolate: false } }] } };
