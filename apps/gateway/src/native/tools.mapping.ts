import type { ToolOffer } from '#lib/domain';
import type { ToolView } from '../core/tools.service.js';
import { decodePage, type PageQuery } from '../http/page.query.js';
import { encodeTime } from './tasks.mapping.js';
import type { OfferAnswer, ToolAnswer, ToolsAnswer } from './tools.dto.js';

/** What is behind a tool is for operators: they get the declaration as it was written, and what servers offer. */
export function encodeTool({ id, kind, standing, tool, stored, offer }: ToolView): ToolAnswer {
  return {
    tool_id: id,
    kind,
    state: standing,
    ...(tool
      ? {
          description: tool.description,
          parameters: tool.parameters,
          idempotent: tool.idempotent,
          timeout_seconds: tool.timeoutMs / 1_000,
          version: tool.version,
        }
      : {}),
    ...(stored
      ? { declaration: stored.source, origin: stored.origin, updated_at: encodeTime(stored.updatedAtMs) }
      : {}),
    ...(offer ? { offer: encodeOffer(offer) } : {}),
  };
}

function encodeOffer({ serverId, offered, accepted, seenAtMs }: ToolOffer): OfferAnswer {
  return {
    server: serverId,
    remote_name: offered.remoteName,
    digest: offered.digest,
    ...(accepted ? { accepted_digest: accepted.digest } : {}),
    description: offered.description,
    parameters: offered.parameters,
    seen_at: encodeTime(seenAtMs),
  };
}

/** Tools come in the order of their ids; the cursor is the last one shown. */
export function encodeTools(tools: readonly ToolView[], query: PageQuery): ToolsAnswer {
  const { limit, cursor = '' } = decodePage(query);
  const rest = tools.filter(({ id }) => id > cursor).sort((one, other) => (one.id < other.id ? -1 : 1));
  const page = rest.slice(0, limit);
  return { tools: page.map(encodeTool), next_cursor: rest.length > limit ? page.at(-1)!.id : null };
}

/** A strong tag that names one declaration; undefined for what has none of its own, or not for this caller to change. */
export function toolEtag({ stored }: ToolView): string | undefined {
  return stored && `"${stored.version}"`;
}
