import { type Fault, faulty, pointerOf } from '#lib/domain';
import { z } from 'zod';

/**
 * The forms of requests (A2A 1.0, "Protocol Data Model"; A2A 0.3, "Protocol Data Objects"), which the codecs of the SDK do
 * not look at: they make a text of whatever stands where one should, or throw. Unknown members are passed over; null is
 * absent; each member has two names ("JSON Field Naming Convention"; ProtoJSON reads both).
 */
function members(types: Readonly<Record<string, z.ZodType>>): z.ZodType {
  const both = Object.entries(types).flatMap(([name, type]) => [
    [name, type.nullish()] as const,
    [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), type.nullish()] as const,
  ]);
  return z.looseObject(Object.fromEntries(both));
}

const text = z.string();
const texts = z.array(text);
const flag = z.boolean();
const count = z.int32().min(0);
const struct = z.record(z.string(), z.unknown());
const bytes = text.regex(/^[A-Za-z0-9+/_-]*={0,2}$/, { error: 'must be base64' });
/** By its name or its number. */
const word = z.union([text, z.int32()], { error: 'must be a string' });

const CONTENTS = ['text', 'raw', 'url', 'data'];

const part = members({ text, raw: bytes, url: text, metadata: struct, filename: text, mediaType: text }).refine(
  (value) => CONTENTS.filter((name) => (value as Members)[name] != null).length <= 1,
  { error: 'must have exactly one of text, raw, url and data' },
);

const said = {
  messageId: text,
  contextId: text,
  taskId: text,
  role: word,
  metadata: struct,
  extensions: texts,
  referenceTaskIds: texts,
};

const pushConfig = {
  tenant: text,
  taskId: text,
  id: text,
  url: text,
  token: text,
  authentication: members({ scheme: text, credentials: text }),
};

const sent = members({
  tenant: text,
  message: members({ ...said, parts: z.array(part) }),
  configuration: members({
    acceptedOutputModes: texts,
    taskPushNotificationConfig: members(pushConfig),
    historyLength: count,
    returnImmediately: flag,
  }),
  metadata: struct,
});

const config03 = { id: text, url: text, token: text, authentication: members({ schemes: texts, credentials: text }) };
const pushConfig03 = members(config03);
const configuration03 = members({
  acceptedOutputModes: texts,
  historyLength: count,
  blocking: flag,
  pushNotification: pushConfig03,
  pushNotificationConfig: pushConfig03,
});
/** What it holds is told by which of the two it has: here null is not absent. */
const file03 = members({ mimeType: text, name: text }).and(
  z.looseObject({ bytes: bytes.optional(), uri: text.optional() }),
);
const rpcPart03 = z.discriminatedUnion(
  'kind',
  [
    z.looseObject({ kind: z.literal('text'), text }),
    z.looseObject({ kind: z.literal('file'), file: file03 }),
    z.looseObject({ kind: z.literal('data'), data: struct }),
  ],
  { error: 'must be a part: text, file or data' },
);
const rpcSent03 = members({
  message: members({ ...said, parts: z.array(rpcPart03) }),
  configuration: configuration03,
  metadata: struct,
});
const restPart03 = members({
  text,
  metadata: struct,
  data: members({ data: struct }),
  file: members({ fileWithBytes: bytes, fileWithUri: text, mimeType: text, name: text }),
});

const restMessage03 = members({ ...said, content: z.array(restPart03), parts: z.array(part) });

/** What is read of a request, by the method of JSON-RPC, or by what stands for it over HTTP. */
const FORMS = {
  SendMessage: sent,
  SendStreamingMessage: sent,
  GetTask: members({ tenant: text, id: text, historyLength: count }),
  CancelTask: members({ tenant: text, id: text, metadata: struct }),
  SubscribeToTask: members({ tenant: text, id: text }),
  ListTasks: members({
    tenant: text,
    contextId: text,
    status: word,
    pageSize: z.int32(),
    pageToken: text,
    historyLength: count,
    statusTimestampAfter: text,
    includeArtifacts: flag,
  }),
  CreateTaskPushNotificationConfig: members(pushConfig),
  GetTaskPushNotificationConfig: members({ tenant: text, taskId: text, id: text }),
  DeleteTaskPushNotificationConfig: members({ tenant: text, taskId: text, id: text }),
  ListTaskPushNotificationConfigs: members({ tenant: text, taskId: text, pageSize: z.int32(), pageToken: text }),
  GetExtendedAgentCard: members({ tenant: text }),
  'message/send': rpcSent03,
  'message/stream': rpcSent03,
  'tasks/get': members({ id: text, historyLength: count, metadata: struct }),
  'tasks/cancel': members({ id: text, metadata: struct }),
  'tasks/resubscribe': members({ id: text, metadata: struct }),
  'tasks/pushNotificationConfig/set': z.looseObject({ taskId: text, pushNotificationConfig: pushConfig03 }),
  'tasks/pushNotificationConfig/get': members({ id: text, pushNotificationConfigId: text }),
  'tasks/pushNotificationConfig/list': members({ id: text }),
  'tasks/pushNotificationConfig/delete': members({ id: text, pushNotificationConfigId: text }),
  'rest03/send': members({
    message: restMessage03,
    request: restMessage03,
    configuration: configuration03,
    metadata: struct,
  }),
  'rest03/config': members({ name: text, pushNotificationConfig: pushConfig03, ...config03 }),
} as const satisfies Readonly<Record<string, z.ZodType>>;

/** The name of a request whose form is known. */
export type RequestForm = keyof typeof FORMS;

/** @throws DomainError `invalid_request` with the path of each fault */
export function assertForm(form: RequestForm, value: unknown): void {
  const parsed = FORMS[form].safeParse(value);
  if (!parsed.success) throw faulty('invalid_request', parsed.error.issues.map(faultOf));
}

/** Parameters of a method that is none, or that has none, are left to the transport. @throws DomainError `invalid_request` */
export function assertParams(method: unknown, params: unknown): void {
  if (typeof method === 'string' && Object.hasOwn(FORMS, method) && params !== undefined)
    assertForm(method as RequestForm, params);
}

type Members = Readonly<Record<string, unknown>>;

function faultOf({ path, message, ...issue }: z.core.$ZodIssue): Fault {
  const expected = issue.code === 'invalid_type' ? issue.expected : undefined;
  return {
    path: pointerOf(path),
    code: 'schema',
    message: expected === undefined ? decapitalised(message) : `must be ${WORDS[expected] ?? `a ${expected}`}`,
  };
}

const WORDS: Readonly<Partial<Record<string, string>>> = {
  array: 'an array',
  object: 'an object',
  record: 'an object',
  int: 'a whole number',
  int32: 'a whole number',
};

function decapitalised(message: string): string {
  return message.slice(0, 1).toLowerCase() + message.slice(1);
}
