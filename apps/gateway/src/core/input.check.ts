import { type AgentDeclaration, type DomainError, type Fault, faulty, INPUT_MODES, type InputMode } from '#lib/domain';
import { compileSchema, type SchemaCheck } from './json-schema.js';

/** Compiled schemas, for as long as the declaration is in use. */
const checks = new WeakMap<AgentDeclaration, SchemaCheck>();

/**
 * Refuses input that the agent does not declare to take.
 * @throws DomainError `invalid_request` when it is neither string nor object nor parts, `unsupported_input` with the path.
 */
export function checkInput(agent: AgentDeclaration, input: unknown): void {
  const refused = modesOf(input).find(({ mode }) => !agent.inputModes.includes(mode));
  if (refused) {
    const message = `the agent ${agent.id} takes no ${refused.mode} input`;
    throw unsupported([{ path: refused.path, code: 'unsupported_mode', message }]);
  }
  if (!agent.inputSchema || typeof input === 'string' || Array.isArray(input)) return;
  const faults = schemaOf(agent, agent.inputSchema)(input);
  if (faults.length > 0) {
    throw unsupported(faults.map(({ path, message }) => ({ path: `/input${path}`, code: 'schema', message })));
  }
}

/** The modes an input uses, and where. */
function modesOf(input: unknown): readonly { readonly mode: InputMode; readonly path: string }[] {
  if (typeof input === 'string') return [{ mode: 'text', path: '/input' }];
  if (typeof input !== 'object' || input === null) throw invalid('/input', 'must be a string, an object or parts');
  if (!Array.isArray(input)) return [{ mode: 'data', path: '/input' }];
  return input.map((part: unknown, index) => {
    const type = typeof part === 'object' && part !== null ? (part as { type?: unknown }).type : undefined;
    const mode = INPUT_MODES.find((known) => known === type);
    if (!mode) throw invalid(`/input/${index}/type`, `must be one of ${INPUT_MODES.join(', ')}`);
    return { mode, path: `/input/${index}` };
  });
}

function schemaOf(agent: AgentDeclaration, schema: Readonly<Record<string, unknown>>): SchemaCheck {
  const known = checks.get(agent) ?? compileSchema(schema);
  checks.set(agent, known);
  return known;
}

function unsupported(faults: readonly Fault[]): DomainError {
  return faulty('unsupported_input', faults);
}

function invalid(path: string, message: string): DomainError {
  return faulty('invalid_request', [{ path, code: 'invalid', message }]);
}
