import { anyText, oneOf, type SettingValues } from '#lib/platform';
import path from 'node:path';
import type { StdioPolicy } from './contract/declaration.check.js';
import type { SecretSource } from './secrets.js';

const stdio = oneOf('off', 'file', 'api');

/** What processes that call tools read of their environment. */
export const TOOL_SETTINGS = {
  TOOL_SECRETS_DIR: {
    meaning: 'Folder of the files that declarations of tools may name as secrets; absent: none may.',
    ...anyText,
  },
  MCP_STDIO: {
    default: 'off',
    meaning: 'Whether MCP servers are started as processes here: `off`, those of the agents file, or of the `api` too.',
    expects: stdio.expects,
    parse: (text: string): StdioPolicy | undefined => stdio.parse(text),
  },
} as const;

/** Where tools get secrets from, and which servers may be started. */
export interface ToolOptions {
  readonly secrets: SecretSource;
  readonly stdio: StdioPolicy;
  /** What programs are looked for in. */
  readonly programPath: string;
}

/** Variables that declarations may name: no other part of the environment can be reached by one. */
const SECRET_VARIABLE = /^TOOL_SECRET_[A-Z0-9_]{1,100}$/;

export function toolOptionsOf(
  settings: SettingValues<typeof TOOL_SETTINGS>,
  env: Readonly<Record<string, string | undefined>>,
): ToolOptions {
  const variables = Object.entries(env).filter(
    (entry): entry is [string, string] => SECRET_VARIABLE.test(entry[0]) && entry[1] !== undefined,
  );
  const { TOOL_SECRETS_DIR: directory, MCP_STDIO } = settings;
  return {
    secrets: {
      variables: Object.freeze(Object.fromEntries(variables)),
      directory: directory === undefined ? undefined : path.resolve(directory),
    },
    stdio: MCP_STDIO,
    programPath: env['PATH'] ?? '',
  };
}
