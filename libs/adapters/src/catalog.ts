import type { RunnerDescriptor } from './contract/index.js';
import { dialogueDescriptor } from './dialogue/dialogue.descriptor.js';
import { workflowDescriptor } from './workflow/workflow.descriptor.js';

/** What is known of every runner kind, without loading any of them. One line per folder. */
export const CATALOG: readonly RunnerDescriptor[] = [dialogueDescriptor, workflowDescriptor];
