import type { RegisteredAdapter } from './contract/index.js';
import { createDialogueAdapter, dialogueDescriptor } from './dialogue/index.js';
import { createWorkflowAdapter, workflowDescriptor } from './workflow/index.js';

/** The adapters a runtime can host. One line per folder: `{ descriptor, create }`. */
export const REGISTRY: readonly RegisteredAdapter[] = [
  { descriptor: dialogueDescriptor, create: createDialogueAdapter },
  { descriptor: workflowDescriptor, create: createWorkflowAdapter },
];
