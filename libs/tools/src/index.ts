export { toolParameters } from './arguments.js';
export { BUILTIN_TOOLS, prepareBuiltinTools } from './builtin/catalog.js';
export type { BuiltinCall, BuiltinTool } from './builtin/builtin.js';
export { ToolGateway } from './tool.gateway.js';
export type { OfferedTool, ToolRights } from './tool.gateway.js';
