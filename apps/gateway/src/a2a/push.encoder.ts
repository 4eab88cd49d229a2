import { V1PushNotificationSerializer } from '@a2a-js/sdk/server';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import { type ArtifactUrl, encodeNotices } from '#lib/protocol/a2a';
import type { PushEncoder } from '../core/delivery.sender.js';
import type { A2aOptions } from './a2a.options.js';
import type { Version } from './calls.js';

/** The form of the messages of a config: the version it was made in. */
export function pushFormat(version: Version): string {
  return `a2a-${version}`;
}

const SERIALIZERS: Readonly<Record<string, V1PushNotificationSerializer | V03PushNotificationSerializer>> = {
  [pushFormat('1.0')]: new V1PushNotificationSerializer(),
  [pushFormat('0.3')]: new V03PushNotificationSerializer(),
};

/** Spells what is told to those who are notified, also while the protocol itself is switched off. */
export function createPushEncoder(
  { confirmationState }: Pick<A2aOptions, 'confirmationState'>,
  urlOf: ArtifactUrl,
): PushEncoder {
  return (facts, format) => {
    const serializer = SERIALIZERS[format];
    if (!serializer) throw new Error(`There are no messages of the form ${format}.`);
    const messages = encodeNotices(facts, { urlOf, confirmationState }).map((update) => serializer.serialize(update));
    return { type: messages[0]?.contentType ?? '', bodies: messages.map(({ body }) => body) };
  };
}
