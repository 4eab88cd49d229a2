// [file, its text, the rule that must fire (none: it must stay allowed)]
const lines = (count, line) => Array.from({ length: count }, (_, at) => line.replaceAll('#', at)).join('\n');
const spec = (body) => `import { expect, it } from '@jest/globals';\n${body}\n`;

export const syntaxProbes = [
  ['apps/gateway/src/core/env.ts', 'export const port = process.env.PORT;\n', 'no-restricted-syntax'],
  ['apps/gateway/src/core/env-pattern.ts', 'export const { env } = process;\n', 'no-restricted-syntax'],
  [
    'apps/gateway/src/core/env-import.ts',
    "import { env } from 'node:process';\nexport const port = env.PORT;\n",
    'no-restricted-syntax',
  ],
  ['apps/gateway/src/config.ts', 'export const port = process.env.PORT;\n', undefined],
  ['libs/platform/src/default.ts', 'export default 1;\n', 'no-restricted-syntax'],
  ['libs/platform/src/star.ts', "export * from './logger.js';\n", 'no-restricted-syntax'],
  [
    'libs/platform/src/loose.ts',
    'export function read(value: any): number {\n  return value as number;\n}\n',
    '@typescript-eslint/no-explicit-any',
  ],
  [
    'libs/platform/src/floating.ts',
    'async function later(): Promise<void> {}\nexport function start(): void {\n  later();\n}\n',
    '@typescript-eslint/no-floating-promises',
  ],
  [
    'libs/platform/src/misused.ts',
    'async function later(): Promise<boolean> {\n  return true;\n}\nexport const answer = later() ? 1 : 2;\n',
    '@typescript-eslint/no-misused-promises',
  ],
  [
    'libs/platform/src/switch.ts',
    "export function pick(word: 'a' | 'b'): number {\n  switch (word) {\n    case 'a':\n      return 1;\n  }\n  return 2;\n}\n",
    '@typescript-eslint/switch-exhaustiveness-check',
  ],
  [
    'libs/platform/src/type-import.ts',
    "import { probe } from './logger.js';\nexport type Probe = typeof probe;\n",
    '@typescript-eslint/consistent-type-imports',
  ],
  [
    'libs/platform/src/untyped.ts',
    'export function one() {\n  return 1;\n}\n',
    '@typescript-eslint/explicit-module-boundary-types',
  ],
  ['libs/platform/src/console.ts', "export function say(): void {\n  console.log('x');\n}\n", 'no-console'],
  ['libs/platform/src/long-file.ts', `${lines(301, 'export const a# = #;')}\n`, 'max-lines'],
  [
    'libs/platform/src/long-function.ts',
    `export function long(b: number[]): void {\n${lines(50, '  b.push(#);')}\n}\n`,
    'max-lines-per-function',
  ],
  [
    'libs/platform/src/params.ts',
    'export function many(...p: number[]): number;\nexport function many(a: number, b: number, c: number, d: number, e: number): number {\n  return a + b + c + d + e;\n}\n',
    'max-params',
  ],
  [
    'libs/platform/src/complex.ts',
    `export function complex(b: number): number {\n${lines(12, '  if (b === #) return #;')}\n  return b;\n}\n`,
    'complexity',
  ],
  ['libs/domain/src/now.ts', 'export const at = (): number => Date.now();\n', 'no-restricted-properties'],
  ['libs/domain/src/today.ts', 'export const at = (): Date => new Date();\n', 'no-restricted-syntax'],
  ['libs/domain/src/dice.ts', 'export const roll = (): number => Math.random();\n', 'no-restricted-properties'],
  [
    'libs/protocol/src/a2a/wait.ts',
    'export const wait = (then: () => void): unknown => setTimeout(then, 1);\n',
    'no-restricted-globals',
  ],
  [
    'libs/adapters/src/dialogue/raw.ts',
    "export const raw = (): Promise<Response> => fetch('http://x');\n",
    'no-restricted-globals',
  ],
  ['libs/platform/src/empty.spec.ts', spec("it('asserts nothing', () => {\n  expect;\n});"), 'jest/expect-expect'],
  ['libs/platform/src/vague.spec.ts', spec("it('matches nothing', () => {\n  expect(1);\n});"), 'jest/valid-expect'],
  [
    'libs/platform/src/good.spec.ts',
    spec(`it('is one', () => {\n${lines(310, '  expect(#).toBe(#);')}\n});`),
    undefined,
  ],
  ['test/support/tools.ts', 'export const url = process.env.DATABASE_URL;\n', undefined],
];
