import { type Message, type Part, Role, SendMessageRequest } from '@a2a-js/sdk';
import { type Fault, faulty, isName } from '#lib/domain';
import { assertForm } from './request.schema.js';

/** The body of a request that sends a message (A2A 1.0, "Send Message"). @throws DomainError `invalid_request` */
export function decodeSend(body: unknown): SendMessageRequest {
  assertForm('SendMessage', body);
  return SendMessageRequest.fromJSON(body);
}

/**
 * The message of a request (A2A 1.0, "Message"), whose required fields the codecs of the SDK do not insist on.
 * @throws DomainError `invalid_request` with the path of each fault
 */
export function assertMessage({ message }: SendMessageRequest): Message {
  if (message === undefined) throw faulty('invalid_request', [fault('/message', 'required', 'is required')]);
  const faults = faultsOf(message);
  if (faults.length > 0) throw faulty('invalid_request', faults);
  return message;
}

function faultsOf({ messageId, contextId, taskId, role, parts }: Message): Fault[] {
  const faults = parts.flatMap((part, index) => faultsOfPart(part, `/message/parts/${index}`));
  if (messageId === '') faults.push(fault('/message/messageId', 'required', 'is required'));
  else if (!isName(messageId)) faults.push(fault('/message/messageId', 'invalid', LONG));
  if (contextId !== '' && !isName(contextId)) faults.push(fault('/message/contextId', 'invalid', LONG));
  if (taskId.length > 200) faults.push(fault('/message/taskId', 'invalid', LONG));
  if (role !== Role.ROLE_USER) faults.push(fault('/message/role', 'is_in', 'must be that of the user'));
  if (parts.length === 0) faults.push(fault('/message/parts', 'array_not_empty', 'must have at least one part'));
  return faults;
}

const LONG = 'must be 1 to 200 characters';

function faultsOfPart({ content }: Part, path: string): Fault[] {
  if (content !== undefined) return [];
  return [fault(path, 'one_of', 'must have exactly one of text, raw, url and data')];
}

function fault(path: string, code: string, message: string): Fault {
  return { path, code, message };
}
