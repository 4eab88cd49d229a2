// [file, what it imports on top of what the skeleton says, the rules that must fire (none: it must stay allowed)]
const core = 'apps/gateway/src/core/probe.ts';
const coreModule = 'apps/gateway/src/core/core.module.ts';
const executor = 'apps/runtime/src/execution/probe.ts';
const domain = 'libs/domain/src/probe.ts';
const a2a = 'libs/protocol/src/a2a/probe.ts';
const adapter = 'libs/adapters/src/dialogue/probe.ts';
const surface = 'apps/gateway/src/native/probe.ts';

export const importProbes = [
  [domain, ['@nestjs/common'], ['domain-is-alone', 'framework-stays-out']],
  [domain, ['node:fs'], ['domain-is-alone']],
  [domain, ['type typeorm'], ['domain-is-alone', 'typeorm-only-in-persistence', 'framework-stays-out']],
  [domain, ['#lib/platform'], ['domain-is-alone']],
  [domain, ['./index.js'], ['own-door-is-for-others']],
  ['libs/domain/src/task.ts', ['./index.js'], ['no-cycles', 'own-door-is-for-others']],
  [adapter, ['./index.js'], ['own-door-is-for-others']],
  ['libs/domain/src/alone.ts', [], ['no-orphans']],
  ['libs/domain/src/task.ts', ['./nowhere.js'], ['resolves']],

  [a2a, ['#lib/protocol/agui'], ['protocol-is-pure']],
  [a2a, ['../agui/agui.codec.js'], ['protocol-is-pure']],
  [a2a, ['express'], ['protocol-is-pure', 'framework-stays-out']],
  [a2a, ['node:crypto'], ['protocol-is-pure']],
  [a2a, ['@ag-ui/core'], ['protocol-sdk-stays-home']],
  ['libs/protocol/src/agui/probe.ts', ['@a2a-js/sdk'], ['protocol-sdk-stays-home']],
  [a2a, ['zod'], []],

  [adapter, ['#lib/adapters/workflow'], ['adapter-stands-alone']],
  [adapter, ['../workflow/workflow.adapter.js'], ['adapter-stands-alone']],
  [adapter, ['#lib/messaging'], ['adapter-stands-alone']],
  [adapter, ['#lib/platform'], ['adapter-stands-alone']],
  [adapter, ['pg'], ['pg-only-where-named']],
  [adapter, ['node:http'], ['guard-makes-the-requests']],
  [adapter, ['@nestjs/common'], ['framework-stays-out']],
  [adapter, ['#lib/protocol/a2a', '#lib/adapters/contract', '#lib/domain'], []],
  ['libs/adapters/src/dialogue/dialogue.int-spec.ts', ['#lib/messaging', '../../../../test/support/database.js'], []],
  ['libs/adapters/src/registry.ts', ['#lib/messaging'], ['adapter-lists-only-list']],
  ['libs/adapters/src/catalog.ts', ['./dialogue/index.js'], ['catalog-carries-no-adapter']],
  ['libs/adapters/src/catalog.ts', ['./workflow/workflow.client.js'], ['catalog-carries-no-adapter']],

  ['libs/tools/src/http/probe.ts', ['#lib/security'], ['execution-and-tools-see-ports']],
  ['libs/tools/src/http/probe.ts', ['undici'], ['guard-makes-the-requests']],
  ['libs/tools/src/http/probe.ts', ['ms'], ['packages-are-declared']],
  ['libs/execution/src/probe.ts', ['#lib/persistence'], ['execution-and-tools-see-ports']],
  ['libs/execution/src/probe.ts', ['#lib/tools'], ['execution-and-tools-see-ports']],
  ['libs/execution/src/probe.ts', ['bullmq'], ['framework-stays-out', 'redis-only-in-messaging']],

  ['libs/audit/src/probe.ts', ['#lib/platform'], ['audit-sees-domain-only']],
  ['libs/audit/src/probe.ts', ['zod'], ['cli-needs-node-only']],
  ['libs/audit/src/probe.ts', ['#lib/domain', 'node:crypto'], []],
  ['apps/cli/src/probe.ts', ['#lib/platform'], ['cli-needs-node-only']],
  ['apps/cli/src/probe.ts', ['yaml'], ['cli-needs-node-only']],
  ['apps/cli/src/probe.ts', ['#lib/audit', 'node:util'], []],

  ['libs/messaging/src/probe.ts', ['#lib/persistence'], ['infra-libs-do-not-meet']],
  ['libs/storage/src/probe.ts', ['#lib/security'], ['infra-libs-do-not-meet']],
  ['libs/security/src/probe.ts', ['#lib/messaging'], ['infra-libs-do-not-meet']],
  ['libs/security/src/probe.ts', ['ioredis'], ['redis-only-in-messaging']],
  ['libs/storage/src/probe.ts', ['pg'], ['pg-only-where-named']],
  ['libs/platform/src/probe.ts', ['#lib/execution'], ['platform-sees-domain-only']],
  ['libs/messaging/src/probe.ts', ['../../../apps/runtime/src/main.js'], ['libs-never-see-apps']],
  ['libs/messaging/src/probe.ts', ['../../persistence/src/stores/task.store.js'], ['public-door-only']],
  ['libs/messaging/src/probe.ts', ['@jest/globals'], ['dev-packages-only-in-tests']],
  ['libs/persistence/src/stores/deeper/probe.ts', ['typeorm'], ['too-deep']],
  ['libs/persistence/src/stores/probe.ts', ['pg', 'typeorm'], []],
  ['migrations/0002-probe.ts', ['../apps/gateway/src/main.js'], ['libs-never-see-apps']],

  [core, ['#lib/adapters/registry'], ['gateway-knows-no-adapter', 'core-sees-ports-only']],
  [core, ['#lib/adapters/dialogue'], ['gateway-knows-no-adapter']],
  [core, ['typeorm'], ['typeorm-only-in-persistence']],
  [core, ['ioredis'], ['redis-only-in-messaging']],
  [core, ['../http/sse.js'], ['core-knows-no-surface']],
  [core, ['../native/native.controller.js'], ['core-knows-no-surface']],
  [core, ['@nestjs/common'], ['core-is-plain']],
  [core, ['#lib/persistence'], ['core-sees-ports-only']],
  [core, ['#lib/security'], ['core-sees-ports-only']],
  [core, ['#lib/protocol/a2a'], ['core-sees-ports-only']],
  [coreModule, ['@nestjs/common', '#lib/persistence', '#lib/messaging', '#lib/security'], []],

  [surface, ['#lib/persistence'], ['edge-goes-through-core']],
  [surface, ['#lib/platform'], ['edge-goes-through-core']],
  [surface, ['#lib/adapters/catalog'], ['edge-goes-through-core']],
  [surface, ['../a2a/a2a.controller.js'], ['surfaces-do-not-meet']],
  [surface, ['../core/tasks.service.js', '../http/sse.js', '#lib/protocol/agui'], []],
  ['apps/gateway/src/http/probe.ts', ['#lib/security'], ['edge-goes-through-core']],
  ['apps/gateway/src/http/probe.ts', ['../native/native.controller.js'], ['http-knows-no-surface']],

  [executor, ['#lib/adapters/dialogue'], ['runtime-uses-the-registry']],
  [executor, ['#lib/messaging'], ['runtime-sees-ports-only']],
  [executor, ['#lib/security'], ['runtime-sees-ports-only']],
  [executor, ['type #lib/adapters/contract'], []],
  ['apps/runtime/src/execution/execution.module.ts', ['#lib/persistence', '@nestjs/common'], []],
  ['apps/runtime/src/main.ts', ['../../gateway/src/main.js'], ['apps-never-meet']],
  ['apps/runtime/src/main.ts', ['../../../test/support/database.js'], ['testing-only-in-tests']],
  ['apps/runtime/src/main.int-spec.ts', ['../../../test/support/database.js'], []],
];
