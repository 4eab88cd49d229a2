import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import busboy from 'busboy';
import { DomainError, isDomainError } from '#lib/domain';
import { invalid } from '../http/dto.js';
import { bytesOf } from '../http/raw-body.js';

/** The file of a form. */
export interface FormFile {
  readonly name: string;
  readonly mediaType: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/** Beside the file. */
const MAX_FIELDS = 16;
const MAX_NAME_LENGTH = 255;
const MAX_PATH_BYTES = 1_024;
const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/;
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

/**
 * The form of uploadAgentTaskArtifacts as it arrives: one part `file`, and `relative_path` before or behind it. Names are
 * kept as names, the file's without folders; none ever becomes a path of ours.
 */
export class UploadForm {
  private readonly form: busboy.Busboy;
  private readonly stopping = new AbortController();
  private readonly read: Promise<void>;
  private readonly found: Promise<FormFile>;
  private relativePath: string | undefined;
  private fault: DomainError | undefined;

  /** @throws DomainError `unsupported_media_type`, `invalid_request` */
  constructor(request: IncomingMessage) {
    this.form = openForm(request);
    this.form.on('field', (name, value, info) => this.takeField(name, value, info.valueTruncated));
    this.form.on('filesLimit', () => (this.fault ??= refusal('/file', 'duplicate', 'comes more than once')));
    for (const limit of ['fieldsLimit', 'partsLimit'] as const) {
      this.form.on(limit, () => (this.fault ??= refusal('', 'too_many', `must have at most ${MAX_FIELDS} fields`)));
    }
    this.found = this.find();
    this.found.catch(() => undefined);
    this.read = pipeline(Readable.from(bytesOf(request)), this.form, { signal: this.stopping.signal });
    this.read.catch(() => undefined);
  }

  /** The file, when its part begins. @throws DomainError `invalid_request` when there is none, or it has no proper name. */
  async file(): Promise<FormFile> {
    const found = await Promise.race([this.found, this.complete()]);
    if (!found) throw this.fault ?? refusal('/file', 'required', 'is required, as a file');
    return found;
  }

  /** What came beside the file, when all of it has been read. @throws DomainError `invalid_request` */
  async rest(): Promise<{ readonly relative_path?: string }> {
    await this.complete();
    if (this.fault) throw this.fault;
    return this.relativePath === undefined ? {} : { relative_path: this.relativePath };
  }

  /** Reads no further. */
  close(): void {
    this.stopping.abort();
  }

  private async complete(): Promise<void> {
    await this.read.catch((error: unknown) => {
      throw isDomainError(error) ? error : malformed();
    });
  }

  private async find(): Promise<FormFile> {
    for (;;) {
      const part = await once(this.form, 'file').catch(() => this.complete());
      if (!part) throw malformed();
      const [field, stream, info] = part as [string, Readable, busboy.FileInfo];
      if (field === 'file') return this.decodeFile(stream, info);
      stream.on('error', () => undefined).resume();
      this.fault ??= refusal('', 'unknown_field', 'must have no file but file');
    }
  }

  private decodeFile(stream: Readable, { filename, mimeType }: busboy.FileInfo): FormFile {
    // It may break off before anybody reads it; whoever does then is told.
    stream.on('error', () => undefined);
    const name = filename || 'file';
    if (name.length > MAX_NAME_LENGTH || UNPRINTABLE.test(name)) {
      stream.resume();
      throw refusal('/file', 'invalid_name', `must have a name of 1 to ${MAX_NAME_LENGTH} printable characters`);
    }
    const mediaType = MEDIA_TYPE.test(mimeType) ? mimeType : 'application/octet-stream';
    return { name, mediaType, content: this.contentOf(stream) };
  }

  private async *contentOf(stream: Readable): AsyncIterable<Uint8Array> {
    try {
      yield* stream as AsyncIterable<Uint8Array>;
    } catch {
      // Why it broke off is known to who reads the form.
      await this.complete();
      throw malformed();
    }
  }

  private takeField(name: string, value: string, isCut: boolean): void {
    if (name !== 'relative_path') return;
    if (this.relativePath !== undefined) this.fault ??= refusal('/relative_path', 'duplicate', 'comes more than once');
    if (isCut || !isRelative(value)) {
      const message = `must be a relative path of at most ${MAX_PATH_BYTES} bytes that leads nowhere else`;
      this.fault ??= refusal('/relative_path', 'invalid', message);
    }
    this.relativePath = value;
  }
}

function openForm(request: IncomingMessage): busboy.Busboy {
  const { headers } = request;
  if (!/^multipart\/form-data\b/i.test(headers['content-type'] ?? '')) {
    const faults = [{ path: 'header.content-type', code: 'unsupported', message: 'must be multipart/form-data' }];
    throw new DomainError('unsupported_media_type', 'content-type: must be multipart/form-data.', { faults });
  }
  try {
    const limits = {
      files: 1,
      fields: MAX_FIELDS,
      parts: MAX_FIELDS + 2,
      fieldSize: MAX_PATH_BYTES,
      fieldNameSize: 100,
    };
    return busboy({ headers, limits, defParamCharset: 'utf8' });
  } catch {
    throw refusal('header.content-type', 'malformed', 'must name the boundary of the form');
  }
}

function isRelative(path: string): boolean {
  if (UNPRINTABLE.test(path) || path.includes('\\') || /^(?:\/|[A-Za-z]:)/.test(path)) return false;
  return !path.split('/').includes('..');
}

function malformed(): DomainError {
  return refusal('', 'malformed', 'is no complete form');
}

function refusal(path: string, code: string, message: string): DomainError {
  return invalid([{ path, code, message }]);
}
