export { createDialogueAdapter } from './dialogue.adapter.js';
export { dialogueDescriptor } from './dialogue.descriptor.js';
