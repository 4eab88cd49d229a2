export { toolParameters } from './arguments.js';
export { BUILTIN_CATALOG, BUILTIN_TOOLS, prepareBuiltinTools } from './builtin/catalog.js';
export { ToolCatalog, versionOf } from './contract/tool.js';
export type { CallingRun, Tool, ToolCall, ToolKind } from './contract/tool.js';
export { ToolGateway } from './tool.gateway.js';
export type { OfferedTool, ToolParts, ToolRights } from './tool.gateway.js';
export { compileSchema, faultsOfSchema, SchemaError } from './schemas.js';
export type { SchemaCheck, SchemaFault, SchemaTerms } from './schemas.js';
