import type { RegisteredAdapter } from './contract/index.js';
import { dialogueDescriptor } from './dialogue/dialogue.descriptor.js';
import { workflowDescriptor } from './workflow/workflow.descriptor.js';

/** The adapters a runtime can host; a framework is loaded when its adapter is made. One entry per folder. */
export const REGISTRY: readonly RegisteredAdapter[] = [
  {
    descriptor: dialogueDescriptor,
    create: async (environment) => (await import('./dialogue/index.js')).createDialogueAdapter(environment),
  },
  {
    descriptor: workflowDescriptor,
    create: async (environment) => (await import('./workflow/index.js')).createWorkflowAdapter(environment),
  },
];
