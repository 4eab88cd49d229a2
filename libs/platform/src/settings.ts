/** One environment variable: what it is called, what it means, and how its text becomes a value. */
export interface Setting<T> {
  /** Text taken when the variable is absent or empty; undefined: see `required`. */
  readonly default?: string;
  /** Absent and without a default is a fault. */
  readonly required?: true;
  readonly meaning: string;
  readonly unit?: string;
  /** What a value must be, for the message when it is not. Never shows the value. */
  readonly expects: string;
  /** Undefined: the text is not what is expected. */
  readonly parse: (text: string) => T | undefined;
}

export type SettingTable = Readonly<Record<string, Setting<unknown>>>;

type ValueOf<S> =
  S extends Setting<infer T>
    ? S extends { readonly required: true } | { readonly default: string }
      ? T
      : T | undefined
    : never;
export type SettingValues<Table extends SettingTable> = { readonly [Name in keyof Table]: ValueOf<Table[Name]> };

/** Names what is wrong with the environment, never a value: values may be secrets. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  constructor(readonly faults: readonly string[]) {
    super(`Configuration: ${faults.join('; ')}.`);
  }
}

/** @throws SettingsError with every fault. */
export function readSettings<const Table extends SettingTable>(
  table: Table,
  env: Readonly<Record<string, string | undefined>>,
): SettingValues<Table> {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(table)) {
    const text = env[name] || setting.default;
    if (text === undefined) {
      if (setting.required) faults.push(`${name} is missing, it must be ${setting.expects}`);
      continue;
    }
    values[name] = setting.parse(text);
    if (values[name] === undefined) faults.push(`${name} must be ${setting.expects}`);
  }
  if (faults.length > 0) throw new SettingsError(faults);
  return Object.freeze(values) as SettingValues<Table>;
}

type Parsed<T> = Pick<Setting<T>, 'expects' | 'parse'>;

export function integerFrom(min: number, max: number): Parsed<number> {
  return {
    expects: `a whole number from ${min} to ${max}`,
    parse: (text) => (/^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined),
  };
}

export function oneOf<const T extends string>(...words: readonly T[]): Parsed<T> {
  return { expects: `one of ${words.join(', ')}`, parse: (text) => words.find((word) => word === text) };
}

/** A URL with one of these schemes, `postgres` for example; the text is kept as it is. */
export function urlOf(...schemes: readonly string[]): Parsed<string> {
  return {
    expects: `a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
    parse: (text) => {
      const scheme = URL.canParse(text) ? new URL(text).protocol.slice(0, -1) : undefined;
      return scheme !== undefined && schemes.includes(scheme) ? text : undefined;
    },
  };
}

export const anyText: Parsed<string> = { expects: 'some text', parse: (text) => text };
