import { ToolError } from '#lib/domain';
import { readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { SecretReference } from './contract/declaration.js';

/** Where secrets of tools may come from: nothing else of the environment or the disk can be named by a declaration. */
export interface SecretSource {
  /** Variables of the environment whose names begin with TOOL_SECRET_. */
  readonly variables: Readonly<Record<string, string>>;
  /** The folder secret files lie in; undefined: none can be used. */
  readonly directory: string | undefined;
}

/** Shorter ones could not be told from ordinary text when they come back. */
const MIN_LENGTH = 8;
/** Bytes of a secret's file. */
const MAX_LENGTH = 8_192;
/** What stands where a secret stood. */
const HIDDEN = '[secret]';

/**
 * The secrets of one call: read when they are needed, by the process that calls, remembered only until its answer is
 * cleaned of them.
 */
export class ReadSecrets {
  /** Longer forms first: they may hold a shorter one, of this secret or another. */
  private known: readonly string[] = [];

  constructor(private readonly source: SecretSource) {}

  /** The value a reference stands for, with its prefix. @throws ToolError `failed` that names the reference, never a value */
  async read(reference: SecretReference): Promise<string> {
    const { secret, secret_file: file, prefix = '' } = reference;
    const value = (file === undefined ? this.variable(secret) : await this.file(file))?.trim();
    const name = file ?? secret;
    if (value === undefined) throw new ToolError('failed', `The secret ${name} of the tool is not set here.`);
    if (value.length < MIN_LENGTH || !/^[\x20-\x7e]+$/.test(value)) {
      throw new ToolError(
        'failed',
        `The secret ${name} of the tool must be ${MIN_LENGTH} or more printable characters.`,
      );
    }
    this.learn(formsOf(value));
    return prefix + value;
  }

  /** The text without the secrets read so far, however they are written in it. */
  hide(text: string): string {
    let hidden = text;
    for (const form of this.known) hidden = hidden.replaceAll(form, HIDDEN);
    return hidden;
  }

  private learn(forms: readonly string[]): void {
    if (forms.every((form) => this.known.includes(form))) return;
    this.known = [...new Set([...this.known, ...forms])].sort((one, other) => other.length - one.length);
  }

  private variable(name: string | undefined): string | undefined {
    const { variables } = this.source;
    return name !== undefined && name.startsWith('TOOL_SECRET_') && Object.hasOwn(variables, name)
      ? variables[name]
      : undefined;
  }

  /** Links may lead anywhere, so it is asked where they end. */
  private async file(name: string): Promise<string | undefined> {
    const { directory } = this.source;
    if (directory === undefined) return undefined;
    try {
      const root = await realpath(directory);
      const place = await realpath(path.resolve(root, name));
      if (!place.startsWith(root + path.sep)) return undefined;
      const bytes = await readFile(place);
      return bytes.length <= MAX_LENGTH ? bytes.toString('utf8') : undefined;
    } catch {
      return undefined;
    }
  }
}

/** A secret as servers may give it back. */
function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value, 'utf8');
  const encoded = encodeURIComponent(value);
  const [, credentials] = /^[A-Za-z]+ (\S{8,})$/.exec(value) ?? [];
  const forms = [
    value,
    encoded,
    encoded.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    JSON.stringify(value).slice(1, -1),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...(credentials === undefined ? [] : [credentials]),
  ];
  return forms;
}
