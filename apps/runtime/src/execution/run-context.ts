import type { RunContext, RunnerAnswer, ToolClient, ToolDescription } from '#lib/adapters/contract';
import { CALLER_CONVERSATION, type CallerConversation, type Claim, type ClientTool } from '#lib/domain';
import { type ContextCustomiser, contextValues } from './context-customisers.js';
import type { TokenSource } from './run-tokens.js';
import type { RunInput } from './run-input.js';
import type { Workspace } from './workspaces.js';

/** What a run works with beside its claim. */
export interface RunMeans {
  readonly input: RunInput;
  readonly workspace: Workspace;
  readonly tools: ToolClient;
  readonly taskToken: TokenSource;
  readonly customisers: readonly ContextCustomiser[];
}

/** What an adapter is told of a run. The context is parsed here, once, from the text as it was sent. */
export function createRunContext(
  claim: Claim,
  { input, workspace, tools, taskToken, customisers }: RunMeans,
): RunContext {
  const context = JSON.parse(claim.context) as Readonly<Record<string, unknown>>;
  const { parent_session_id } = context;
  return {
    taskKey: claim.taskKey,
    taskId: claim.taskId,
    runNo: claim.runNo,
    tenant: claim.tenant,
    agentId: claim.agentId,
    type: claim.type ?? undefined,
    sessionId: claim.sessionId ?? undefined,
    userId: claim.userId ?? undefined,
    parentSessionId: typeof parent_session_id === 'string' ? parent_session_id : undefined,
    input: input.value,
    ...(input.readable === input.value ? {} : { readableInput: input.readable }),
    files: input.files,
    context,
    attributes: contextValues(claim, context.attributes, customisers),
    options: claim.options,
    detail: claim.detail,
    checkpoint: claim.checkpoint === null ? undefined : (JSON.parse(claim.checkpoint) as unknown),
    conversation: claim.conversation === null ? undefined : (JSON.parse(claim.conversation) as unknown),
    callerConversation: callerConversationOf(context),
    answer: claim.answer === null ? undefined : (JSON.parse(claim.answer) as RunnerAnswer),
    tools,
    taskToken,
    clientTools: clientToolsOf(claim),
    get workspace() {
      return workspace.path;
    },
    budgets: claim.policy.budgets,
  };
}

/** Its form was checked when the task came in. */
function callerConversationOf(context: Readonly<Record<string, unknown>>): CallerConversation | undefined {
  const told = Object.hasOwn(context, CALLER_CONVERSATION) ? context[CALLER_CONVERSATION] : undefined;
  return told == null ? undefined : { before: [], after: [], ...told };
}

function clientToolsOf({ clientTools }: Claim): readonly ToolDescription[] {
  if (clientTools === null) return [];
  return (JSON.parse(clientTools) as readonly ClientTool[]).map((tool) => ({ ...tool, idempotent: false }));
}
