import { ScriptedAdapter } from './scripted.adapter.js';
import { scriptedDescriptor } from './scripted.descriptor.js';

/** What EXTRA_ADAPTERS names. */
export const adapters = [{ descriptor: scriptedDescriptor, create: (): ScriptedAdapter => new ScriptedAdapter() }];
export { ScriptedAdapter } from './scripted.adapter.js';
export { scriptedDescriptor } from './scripted.descriptor.js';
export type { ScriptStep } from './script.js';
export { readEffects } from './effects.js';
export type { Effect } from './effects.js';
