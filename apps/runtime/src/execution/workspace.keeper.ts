import type { Logger } from '#lib/domain';
import type { RunRecorder } from '#lib/execution';
import type { WorkspaceFile } from './workspace.files.js';
import type { Workspace } from './workspaces.js';

/** Files of one workspace that are kept at its end without having been asked for; the others are named in a list. */
const MAX_KEPT = 100;
/** How long keeping them may take, in ms. */
const KEEP_MS = 30_000;

const LOG = /(^|\/)logs?\/|\.log$|(^|\/)(stdout|stderr)(\.txt)?$/i;
/** What tools leave for themselves. */
const PRIVATE = /(^|\/)(\.|node_modules\/|__pycache__\/)/;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css',
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  log: 'text/plain',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  xml: 'application/xml',
  zip: 'application/zip',
};

/**
 * Keeps what a run leaves in its workspace and has not kept itself: logs as `log`, everything else as `produced`, in
 * the order of their names. Never fails: the end of a task does not depend on it.
 */
export async function keepRest(workspace: Workspace, recorder: RunRecorder, logger: Logger): Promise<void> {
  const untilMs = performance.now() + KEEP_MS;
  try {
    const files = (await workspace.allFiles()).filter(({ name, size }) => size > 0 && !PRIVATE.test(name));
    const left: WorkspaceFile[] = [];
    let kept = 0;
    let bytes = 0;
    for (const file of files) {
      bytes += file.size;
      if (kept >= MAX_KEPT || bytes > workspace.maxBytes || performance.now() > untilMs) left.push(file);
      else if (await recorder.keepFile(sourceOf(file), () => workspace.read(file.name))) kept += 1;
    }
    if (left.length > 0) await recorder.keepFile(LEFT_OUT, async () => listOf(left));
  } catch (error) {
    logger.warn('the files of a workspace were not all kept', { error });
  }
}

const LEFT_OUT = { kind: 'log', name: 'left-out.txt', mediaType: 'text/plain' } as const;

function sourceOf({ name }: WorkspaceFile): { kind: 'log' | 'produced'; name: string; mediaType: string } {
  const [, extension = ''] = /\.(\w+)$/.exec(name) ?? [];
  const mediaType = MEDIA_TYPES[extension.toLowerCase()] ?? 'application/octet-stream';
  return { kind: LOG.test(name) ? 'log' : 'produced', name, mediaType };
}

async function* listOf(files: readonly WorkspaceFile[]): AsyncIterable<Uint8Array> {
  for (const { name, size } of files) yield Buffer.from(`${size}\t${name}\n`);
}
