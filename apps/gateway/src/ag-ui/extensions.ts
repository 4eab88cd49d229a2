import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { DomainError, EVENTS } from '#lib/domain';
import type { AgUiConverter, AgUiEnricher, AgUiExtensions } from '#lib/protocol/ag-ui';

const OTHERWISE = 'exports something else than converters and enrichers';

/** What the module of an installation adds to the mapping. @throws DomainError with one line for the operator. */
export async function loadExtensions(module: string | undefined): Promise<AgUiExtensions> {
  if (module === undefined) return {};
  const loaded = (await load(module)) as Readonly<Record<string, unknown>>;
  const { converters = [], enrichers = [] } = loaded;
  if (!('converters' in loaded) && !('enrichers' in loaded)) throw unfit(OTHERWISE);
  if (
    Array.isArray(converters) &&
    converters.every(isConverter) &&
    Array.isArray(enrichers) &&
    enrichers.every(isEnricher)
  )
    return { converters, enrichers };
  throw unfit(OTHERWISE);
}

function load(module: string): Promise<unknown> {
  return import(pathToFileURL(path.resolve(module)).href).catch((cause: unknown) => {
    throw unfit(`cannot be loaded (${(cause as NodeJS.ErrnoException).code ?? 'it throws'})`, cause);
  });
}

function isConverter(value: unknown): value is AgUiConverter {
  if (typeof value !== 'object' || value === null) return false;
  const { eventTypes, convert } = value as Partial<AgUiConverter>;
  const isList = Array.isArray(eventTypes) && eventTypes.every((type) => Object.hasOwn(EVENTS, String(type)));
  return isList && typeof convert === 'function';
}

function isEnricher(value: unknown): value is AgUiEnricher {
  return typeof value === 'function';
}

function unfit(what: string, cause?: unknown): DomainError {
  return new DomainError('unavailable', `AGUI_EXTENSIONS: the module ${what}.`, { cause });
}
