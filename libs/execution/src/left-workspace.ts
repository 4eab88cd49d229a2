import { type BlobReference, type EventLog, isTerminalEvent } from '#lib/domain';
import { newArtifactId } from '#lib/platform';
import { draftEvent } from './admission.js';
import { RunCursor, type Work } from './write-queue.js';

/**
 * Where a task is ended by others than its run (a cancel while it waits, a deadline, a loss), nobody is left who could keep
 * its files one by one: then what was saved of its workspace becomes an artifact as it is, a tar archive.
 */
export async function withLeftWorkspaces(log: EventLog, works: readonly Work[]): Promise<readonly Work[]> {
  const ending = works.filter(endsFromOutside);
  if (ending.length === 0) return works;
  const saved = await log.workspaces(ending.map(({ append }) => append.taskKey));
  if (saved.size === 0) return works;
  return works.map((work) => {
    const workspace = endsFromOutside(work) ? saved.get(work.append.taskKey) : undefined;
    return workspace ? withArchive(work, workspace) : work;
  });
}

function endsFromOutside({ append, writes }: Work): boolean {
  return !(writes[0]?.guard instanceof RunCursor) && append.events.some(({ body }) => isTerminalEvent(body.type));
}

function withArchive(work: Work, workspace: BlobReference): Work {
  const { events } = work.append;
  const end = events.findIndex(({ body }) => isTerminalEvent(body.type));
  const artifact = {
    artifact_id: newArtifactId(),
    kind: 'log',
    name: 'workspace.tar',
    media_type: 'application/x-tar',
    size: workspace.size,
    sha256: workspace.sha256,
  } as const;
  const created = draftEvent({ type: 'artifact.created', payload: { artifact } });
  return { ...work, append: { ...work.append, events: [...events.slice(0, end), created, ...events.slice(end)] } };
}
