import { type Claim, type EventBody, redactFields } from '#lib/domain';
import type { HideFields } from './confirmations.js';

/** JSON Pointers of the arguments of a tool that its schema marks as secret; none for a tool nobody knows. */
export type FindSecretFields = (toolName: string, tenant: string) => readonly string[];

/** Keeps arguments that are marked as secret out of the events of one run. */
export class SecretArguments {
  private hasSome: boolean | undefined;

  constructor(
    private readonly claim: Pick<Claim, 'tenant' | 'allowedTools'>,
    private readonly find: FindSecretFields = () => [],
  ) {}

  readonly hide: HideFields = (toolName, args) =>
    toolName === undefined ? args : redactFields(args, this.find(toolName, this.claim.tenant));

  /** The event as it may be stored; undefined when nothing of it may. */
  without(body: EventBody): EventBody | undefined {
    if (body.type === 'tool.invoked' && body.payload.arguments !== undefined) {
      const { tool_name, arguments: args } = body.payload;
      const shown = this.hide(tool_name, args);
      return shown === args ? body : { ...body, payload: { ...body.payload, arguments: shown } };
    }
    // Pieces of JSON do not say which field they are of, nor always of which tool.
    return body.type === 'tool.arguments.delta' && this.mayHide() ? undefined : body;
  }

  private mayHide(): boolean {
    const { allowedTools, tenant } = this.claim;
    this.hasSome ??= allowedTools.some((name) => this.find(name, tenant).length > 0);
    return this.hasSome;
  }
}
