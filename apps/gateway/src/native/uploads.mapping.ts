import type { Request } from 'express';
import { DomainError } from '#lib/domain';
import { tooLarge } from '../core/received-bytes.js';
import type { UploadRequest } from '../core/uploads.service.js';
import { hasBody } from '../http/body.js';
import { announcedBytes, bytesOf, digestOf, fileNameOf, mediaTypeOf } from '../http/raw-body.js';
import type { UploadQuery } from './query.dto.js';

const MAX_NAME_LENGTH = 255;
const LONE_SURROGATE = /\p{Cs}/u;
const CONTROL = /[\u0000-\u001f\u007f]/;

/** What the head of a request says of the bytes that follow. None of them is read before all of it is in order. */
export function decodeUpload(request: Request, query: UploadQuery, maxBytes: number): Omit<UploadRequest, 'requestId'> {
  const upload = { name: nameOf(request, query), mediaType: mediaTypeOf(request), expected: digestOf(request) };
  if (!hasBody(request)) throw refusal('', 'required', 'a body is required');
  const announced = announcedBytes(request);
  if ((announced ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return { ...upload, announcedBytes: announced, content: bytesOf(request) };
}

function nameOf(request: Request, query: UploadQuery): string {
  const [name, path] =
    query.name === undefined ? [fileNameOf(request), 'header.content-disposition'] : [query.name, 'query.name'];
  if (name === undefined)
    throw refusal('query.name', 'required', 'is required, unless Content-Disposition has a filename');
  if (name.trim() === '' || name.length > MAX_NAME_LENGTH) {
    throw refusal(path, 'length', `must be a name of 1 to ${MAX_NAME_LENGTH} characters`);
  }
  if (CONTROL.test(name) || LONE_SURROGATE.test(name)) {
    throw refusal(path, 'forbidden_character', 'must not contain control characters or half characters');
  }
  return name;
}

function refusal(path: string, code: string, message: string): DomainError {
  const faults = [{ path, code, message }];
  return new DomainError('invalid_request', `${path || 'The body'}: ${message}.`, { faults });
}
