// Syntax rules. Every rule named here has a probe in test/boundaries/syntax-probes.mjs that must make it fire.
import js from '@eslint/js';
import jest from 'eslint-plugin-jest';
import ts from 'typescript-eslint';

const SPECS = ['**/*spec.ts', 'test/support/**/*.{contract,conformance}.ts'];
const ENV = 'Read the environment in config.ts only.';
const env = [
  { selector: "MemberExpression[object.name='process'][property.name='env']", message: ENV },
  { selector: "VariableDeclarator[init.name='process'] > ObjectPattern > Property[key.name='env']", message: ENV },
  {
    selector: "ImportDeclaration[source.value=/^(node:)?process$/] > ImportSpecifier[imported.name='env']",
    message: ENV,
  },
];
const shape = [
  { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
  { selector: 'ExportAllDeclaration', message: 'List by name what the folder offers.' },
];
const clock = [
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Time is an argument here.' },
];
const nodeGlobals = [
  'process',
  'console',
  'Buffer',
  'URL',
  'URLSearchParams',
  'performance',
  'fetch',
  'AbortController',
];
const timers = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'queueMicrotask'];
const web = ['AbortSignal', 'TextEncoder', 'TextDecoder', 'Response', 'Headers', 'structuredClone'];
const readonlyGlobals = (names) => Object.fromEntries(names.map((name) => [name, 'readonly']));
const unsafe = ['assignment', 'member-access', 'argument', 'call', 'return'].map(
  (what) => `@typescript-eslint/no-unsafe-${what}`,
);

export default ts.config(
  { ignores: ['**/dist/', '**/node_modules/', '.data/', 'coverage/'] },
  {
    files: ['**/*.mjs', '**/*.cjs'],
    ...js.configs.recommended,
    languageOptions: { globals: readonlyGlobals([...nodeGlobals, ...timers, ...web, 'module', 'require']) },
    rules: { ...js.configs.recommended.rules, 'no-console': 'error' },
  },
  {
    files: ['**/*.ts'],
    extends: [ts.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // Ports are asynchronous; an in-memory implementation has nothing to await.
      '@typescript-eslint/require-await': 'off',
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 50, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 4],
      complexity: ['error', 12],
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...shape],
    },
  },
  {
    files: ['{apps,libs,migrations}/**/*.ts'],
    ignores: SPECS,
    rules: {
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      'no-restricted-syntax': ['error', ...env, ...shape],
    },
  },
  { files: ['{apps,libs}/**/*.module.ts', '{apps,libs}/**/*.controller.ts'], rules: { 'max-params': 'off' } },
  { files: ['{apps,libs}/**/config.ts'], rules: { 'no-restricted-syntax': ['error', ...shape] } },
  {
    files: ['libs/{domain,protocol}/**/*.ts'],
    ignores: SPECS,
    rules: {
      'no-restricted-globals': ['error', 'process', 'fetch', 'crypto', 'performance', ...timers],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Time is an argument here.' },
        { object: 'Math', property: 'random', message: 'Chance is an argument here.' },
      ],
      'no-restricted-syntax': ['error', ...env, ...shape, ...clock],
    },
  },
  {
    files: ['libs/{adapters,tools}/**/*.ts'],
    ignores: SPECS,
    rules: { 'no-restricted-globals': ['error', { name: 'fetch', message: 'Use the guarded client you are given.' }] },
  },
  {
    files: SPECS,
    ...jest.configs['flat/recommended'],
    rules: {
      ...jest.configs['flat/recommended'].rules,
      'jest/expect-expect': ['error', { assertFunctionNames: ['expect*', 'assert*', 'fc.assert', '**.expect'] }],
      'jest/valid-expect': 'error',
      'max-lines': 'off',
      'max-lines-per-function': 'off',
    },
  },
  { files: ['test/support/**/*.{contract,conformance}.ts'], rules: { 'jest/no-export': 'off' } },
  {
    // Bodies of foreign answers are `any` in supertest and JSON.parse; a wrong guess fails the test anyway.
    files: [...SPECS, 'test/**/*.ts'],
    rules: {
      ...Object.fromEntries(unsafe.map((name) => [name, 'off'])),
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-base-to-string': 'off',
    },
  },
);
