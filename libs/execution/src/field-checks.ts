import { type ArtifactBody, type ConfirmationBody, type FieldKind, mayHoldSecret, redactSecrets } from '#lib/domain';

/** Tells what is wrong with a value, as the end of a sentence; undefined when nothing is. */
type FieldCheck = (value: unknown) => string | undefined;

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ARTIFACT_KINDS: readonly unknown[] = ['produced', 'input', 'log', 'offload'] satisfies ArtifactBody['kind'][];

const CONFIRMATION_KINDS: readonly unknown[] = [
  'tool_confirmation',
  'question',
  'client_tool',
  'authorization',
] satisfies ConfirmationBody['kind'][];

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const string: FieldCheck = (value) => {
  if (typeof value !== 'string') return 'is no string';
  // What PostgreSQL's text cannot hold, and half characters, which UTF-8 cannot.
  return value.isWellFormed() && !value.includes('\0') ? undefined : 'holds U+0000 or half of a surrogate pair';
};

const PLAIN_LABEL = /^[\x20-\x7e]{0,512}$/;
/** No control or format characters, which include those that turn the direction of text around, and no line separators. */
const LABEL = /^[^\p{C}\p{Zl}\p{Zp}]{0,512}$/u;

const label: FieldCheck = (value) => {
  if (typeof value !== 'string') return 'is no string';
  if (!PLAIN_LABEL.test(value) && !LABEL.test(value)) return 'is no name: one line of at most 512 characters';
  return mayHoldSecret(value) && redactSecrets(value) !== value ? 'looks like a secret' : undefined;
};

const object: FieldCheck = (value) => (isObject(value) ? undefined : 'is no object');

const json: FieldCheck = (value) =>
  value === undefined || typeof value === 'function' || typeof value === 'symbol' ? 'is no JSON' : undefined;

function count(value: unknown): string | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? undefined : 'is no count';
}

function optional(check: FieldCheck): FieldCheck {
  return (value) => (value === undefined ? undefined : check(value));
}

/** Checks an object's members; members that are not named are refused. */
function members(checks: Readonly<Record<string, FieldCheck>>): FieldCheck {
  return (value) => {
    if (!isObject(value)) return 'is no object';
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(checks, name)) return `has an unknown member ${name.slice(0, 64)}`;
    }
    for (const [name, check] of Object.entries(checks)) {
      const fault = check(value[name]);
      if (fault !== undefined) return `has a member ${name} that ${fault}`;
    }
    return undefined;
  };
}

function listOf(check: FieldCheck): FieldCheck {
  return (value) => {
    if (!Array.isArray(value)) return 'is no array';
    const fault = value.map(check).find((found) => found !== undefined);
    return fault === undefined ? undefined : `has an item that ${fault}`;
  };
}

const error = members({ code: string, message: string });

/** One check per kind of field; see the table of events in the domain. */
export const FIELD_CHECKS: Readonly<Record<FieldKind | 'label', FieldCheck>> = {
  string,
  label,
  integer: (value) => (Number.isSafeInteger(value) ? undefined : 'is no integer'),
  number: (value) => (Number.isFinite(value) ? undefined : 'is no number'),
  boolean: (value) => (typeof value === 'boolean' ? undefined : 'is neither true nor false'),
  timestamp: (value) => (typeof value === 'string' && TIMESTAMP.test(value) ? undefined : 'is no timestamp'),
  json,
  object,
  backend: members({ runner: string, version: string }),
  error,
  artifact: members({
    artifact_id: string,
    step_id: optional(string),
    kind: (value) => (ARTIFACT_KINDS.includes(value) ? undefined : 'is no kind of artifact'),
    name: string,
    media_type: string,
    size: count,
    sha256: string,
    origin: optional(string),
    relative_path: optional(string),
  }),
  confirmations: listOf(
    members({
      tool_call_id: label,
      kind: (value) => (CONFIRMATION_KINDS.includes(value) ? undefined : 'is no kind of confirmation'),
      tool_name: optional(label),
      arguments: (value) => (value === undefined ? undefined : json(value)),
      prompt: optional(string),
      digest: string,
      expires_at: string,
    }),
  ),
  decisions: listOf(object),
  result: members({ text: string, data: optional(json), metadata: object }),
  usage: members({ input_tokens: count, output_tokens: count }),
};
