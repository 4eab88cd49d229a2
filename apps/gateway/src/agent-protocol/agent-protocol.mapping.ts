import { type AnswerRequest, isName } from '#lib/domain';
import {
  ADDITIONAL_INPUT,
  decodeAnswer,
  decodeRequest,
  type OpenWait,
  type RequestBody,
} from '#lib/protocol/agent-protocol';
import type { RawJson } from '../core/raw-json.js';
import type { SubmitRequest } from '../core/submissions.service.js';
import { invalid } from '../http/dto.js';
import type { JsonDocument } from '../http/json-document.js';

const NOTHING: RawJson = { text: '""', value: '' };

/**
 * A task as createAgentTask asks for it. It waits for its first step, so that files can be sent before; additional input
 * alone comes from clients who never execute steps, and starts at once.
 */
export function decodeCreate(document: JsonDocument, agentId: string | undefined, requestId: string): SubmitRequest {
  const { input, additionalInput } = decodeRequest(document.value);
  if (agentId !== undefined && !isName(agentId))
    throw invalid([{ path: 'header.x-agent-id', code: 'invalid', message: 'is no id of an agent' }]);
  const additional = additionalInput && { text: document.textOf('additional_input')!, value: additionalInput };
  const asked = input === undefined ? NOTHING : { text: document.textOf('input')!, value: input };
  const common = { agentId, body: document.value, requestId };
  if (input === undefined && additional) return { ...common, input: additional };
  return { ...common, input: asked, isHeld: true, ...(additional ? { context: besides(additional) } : {}) };
}

function besides({ text, value }: RawJson): RawJson {
  return { text: `{"${ADDITIONAL_INPUT}":${text}}`, value: { [ADDITIONAL_INPUT]: value } };
}

/** An answer, and the wait it is meant for. */
export interface MeantAnswer {
  readonly waitId: string;
  readonly answer: AnswerRequest;
}

/**
 * What the body of a step answers, if it does. Text answers questions only, and those only that its sender was shown or
 * names: clients send a word with every step. A tool is approved or denied by a decision in additional input.
 */
export function decodeStepAnswer(
  { input, additionalInput }: RequestBody,
  wait: OpenWait,
  isHandedOut: boolean,
): MeantAnswer | undefined {
  const said = decodeAnswer(additionalInput ?? {});
  const { wait_id: waitId = wait.waitId, decisions, results } = said;
  const answer = { decisions, results, ...(input === undefined ? {} : { input }) };
  if (decisions.length > 0 || results.length > 0) return { waitId, answer };
  const isQuestion = wait.confirmations.every(({ kind }) => kind === 'question');
  const isMeant = isHandedOut || said.wait_id !== undefined;
  return input !== undefined && isQuestion && isMeant ? { waitId, answer } : undefined;
}
