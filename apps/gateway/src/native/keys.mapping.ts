import { keyStateOf } from '#lib/domain';
import type { KeyRecord, Page } from '#lib/domain';
import type { KeyWish, ShownKey } from '../core/keys.service.js';
import { invalid } from '../http/dto.js';
import { decodeMoment } from '../http/times.js';
import type { CreateKeyBody, KeyAnswer, KeysAnswer, NewKeyAnswer } from './keys.dto.js';
import { encodeTime, encodeTimeOrNull } from './tasks.mapping.js';

export function decodeKeyWish(body: CreateKeyBody, requestId: string): KeyWish {
  return {
    tenant: body.tenant ?? undefined,
    principal: body.principal ?? undefined,
    scopes: [...new Set(body.scopes)],
    label: body.label ?? undefined,
    expiresAtMs: decodeExpiry(body.expires_at ?? undefined),
    requestId,
  };
}

function decodeExpiry(text: string | undefined): number | null {
  const path = '/expires_at';
  const timeMs = decodeMoment(text, path)?.ms ?? null;
  if (timeMs !== null && timeMs <= Date.now())
    throw invalid([{ path, code: 'in_future', message: 'must be in the future' }]);
  return timeMs;
}

export function encodeKey(key: KeyRecord): KeyAnswer {
  const nowMs = Date.now();
  const state = keyStateOf(key, nowMs);
  const retiring = state === 'live' ? key.retiring.filter(({ untilMs }) => untilMs > nowMs) : [];
  return {
    id: key.id,
    tenant: key.tenant,
    principal: key.principal,
    scopes: [...key.scopes],
    label: key.label,
    state,
    created_at: encodeTime(key.createdAtMs),
    rotated_at: encodeTimeOrNull(key.rotatedAtMs),
    retiring_until: retiring.map(({ untilMs }) => encodeTime(untilMs)),
    expires_at: encodeTimeOrNull(key.expiresAtMs),
    revoked_at: encodeTimeOrNull(key.revokedAtMs),
    last_used_at: encodeTimeOrNull(key.lastUsedAtMs),
  };
}

export function encodeKeys({ items, nextCursor }: Page<KeyRecord>): KeysAnswer {
  return { keys: items.map(encodeKey), next_cursor: nextCursor ?? null };
}

export function encodeShownKey({ key, text }: ShownKey): NewKeyAnswer {
  return { ...encodeKey(key), key: text };
}
