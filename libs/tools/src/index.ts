export { BUILTIN_TOOLS, prepareBuiltinTools } from './builtin/catalog.js';
export type { BuiltinCall, BuiltinTool } from './builtin/builtin.js';
