export { createWorkflowAdapter } from './workflow.adapter.js';
export { setUpCheckpoints } from './workflow.client.js';
export { workflowDescriptor } from './workflow.descriptor.js';
