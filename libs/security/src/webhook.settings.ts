import { integerFrom } from '#lib/platform';
import { type BoxKey, parseBoxKeys } from './secret-box.js';

/** 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h (Standard Webhooks, "Deliverability"): three days in all. */
const RETRY_SECONDS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
const boxKeys = { expects: 'kid:base64,kid:base64 with keys of 32 bytes', parse: parseBoxKeys };
const delays = {
  expects: '1 to 20 numbers of seconds up to 604800, separated by commas',
  parse: (text: string): readonly number[] | undefined => {
    const seconds = text.split(',').map((part) => (/^ *\d{1,6} *$/.test(part) ? Number(part) : NaN));
    return seconds.length <= 20 && seconds.every((value) => value <= 604_800) ? seconds : undefined;
  },
};

/** Settings of what is told to webhooks and callbacks, the same for all gateways. */
export const WEBHOOK_SETTINGS = {
  WEBHOOK_KEYS: {
    meaning:
      'Keys that secrets of webhooks are kept under, the first seals; absent: one is made and kept in the database.',
    ...boxKeys,
  },
  WEBHOOK_TIMEOUT_SECONDS: {
    default: '15',
    unit: 's',
    meaning: 'How long a receiver of a webhook or callback may take to answer.',
    ...integerFrom(1, 60),
  },
  WEBHOOK_RETRY_SECONDS: {
    meaning: 'Seconds from each attempt that came to nothing to the next, then it is given up; absent: the usual.',
    ...delays,
  },
} as const;

/** How messages are signed and sent. */
export interface WebhookOptions {
  /** Undefined: one that is kept in the database. */
  readonly keys: readonly BoxKey[] | undefined;
  readonly timeoutMs: number;
  readonly retryMs: readonly number[];
}

export function webhookOptionsOf(settings: {
  readonly WEBHOOK_KEYS: readonly BoxKey[] | undefined;
  readonly WEBHOOK_TIMEOUT_SECONDS: number;
  readonly WEBHOOK_RETRY_SECONDS: readonly number[] | undefined;
}): WebhookOptions {
  return {
    keys: settings.WEBHOOK_KEYS,
    timeoutMs: settings.WEBHOOK_TIMEOUT_SECONDS * 1_000,
    retryMs: (settings.WEBHOOK_RETRY_SECONDS ?? RETRY_SECONDS).map((seconds) => seconds * 1_000),
  };
}
