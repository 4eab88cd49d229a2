// Who may import what. Every rule has a probe in test/boundaries/import-probes.mjs that must make it fire.
// node_modules may be a link to another folder, so packages are matched wherever they resolve to, or by bare name.
const npm = (...names) => `(^|node_modules/)(@types/)?(${names.join('|')})(/|$)`;
const rule = (name, from, to) => ({ name, severity: 'error', from, to });

const TEST = '\\.(spec|int-spec|e2e-spec)\\.ts$|^test/';
const MODULE = '\\.module\\.ts$';
const CATALOG = '^libs/adapters/src/catalog\\.ts$';
const SOCKETS = '^(node:)?(http|https|http2|net|tls|dgram)$';

module.exports = {
  forbidden: [
    rule('no-cycles', {}, { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } }),
    rule(
      'no-orphans',
      { orphan: true, pathNot: [TEST, 'index\\.ts$', '\\.d\\.ts$', '^migrations/', '^apps/console/'] },
      {},
    ),
    rule('resolves', { pathNot: '^apps/console/' }, { couldNotResolve: true }),
    rule('too-deep', { path: '^(apps|libs)/[^/]+/src/[^/]+/[^/]+/' }, {}),
    rule('too-deep', {}, { path: '^(apps|libs)/[^/]+/src/[^/]+/[^/]+/', pathNot: '/fixtures/' }),
    rule(
      'dev-packages-only-in-tests',
      { path: '^(apps|libs|migrations)/', pathNot: [TEST, '^apps/console/'] },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    ),
    rule('packages-are-declared', {}, { dependencyTypes: ['npm-no-pkg'] }),

    rule('apps-never-meet', { path: '^apps/([^/]+)/' }, { path: '^apps/', pathNot: '^apps/$1/' }),
    rule('libs-never-see-apps', { path: '^(libs|migrations)/' }, { path: '^apps/' }),
    rule('testing-only-in-tests', { pathNot: TEST }, { path: '^test/' }),
    rule(
      'public-door-only',
      { path: '^(apps|libs|migrations|test)/([^/]+)', pathNot: '^test/support/' },
      {
        path: '^libs/[^/]+/src/',
        pathNot: [
          '^libs/$2/',
          '^libs/[^/]+/src/index\\.ts$',
          '^libs/(protocol|adapters)/src/[^/]+/index\\.ts$',
          '^libs/adapters/src/(catalog|registry)\\.ts$',
        ],
      },
    ),
    rule('own-door-is-for-others', { path: '^libs/([^/]+)/src/', pathNot: TEST }, { path: '^libs/$1/src/index\\.ts$' }),
    rule(
      'own-door-is-for-others',
      { path: '^libs/(protocol|adapters)/src/([^/]+)/', pathNot: TEST },
      { path: '^libs/$1/src/$2/index\\.ts$' },
    ),

    rule('domain-is-alone', { path: '^libs/domain/', pathNot: TEST }, { pathNot: '^libs/domain/' }),
    rule(
      'protocol-is-pure',
      { path: '^libs/protocol/src/([^/]+)/', pathNot: TEST },
      { pathNot: ['^libs/domain/', '^libs/protocol/src/$1/', npm('zod', '@a2a-js/sdk', '@ag-ui/core')] },
    ),
    rule('protocol-sdk-stays-home', { path: '^libs/protocol/src/(?!a2a)' }, { path: npm('@a2a-js') }),
    rule('protocol-sdk-stays-home', { path: '^libs/protocol/src/(?!ag-?ui)' }, { path: npm('@ag-ui') }),
    rule(
      'adapter-stands-alone',
      { path: '^libs/adapters/src/([^/]+)/', pathNot: TEST },
      { path: '^(apps|libs)/', pathNot: ['^libs/(domain|protocol)/', '^libs/adapters/src/(contract|$1)/'] },
    ),
    rule(
      'adapter-lists-only-list',
      { path: '^libs/adapters/src/[^/]+\\.ts$', pathNot: TEST },
      { pathNot: '^libs/(adapters|domain)/' },
    ),
    rule('catalog-carries-no-adapter', { path: CATALOG }, { path: '\\.(adapter|client)\\.ts$', reachable: true }),
    rule(
      'guard-makes-the-requests',
      // site.http.ts reaches a child of ours on the loopback, which the guard refuses by design.
      { path: '^libs/(adapters|tools)/', pathNot: [TEST, '^libs/adapters/src/workflow/site\\.http\\.ts$'] },
      { path: [SOCKETS, npm('undici', 'axios', 'node-fetch', 'got')], dependencyTypesNot: ['type-only'] },
    ),
    rule(
      'infra-libs-do-not-meet',
      { path: '^libs/(persistence|messaging|storage|security|platform)/', pathNot: TEST },
      { path: '^libs/', pathNot: ['^libs/(domain|platform)/', '^libs/$1/'] },
    ),
    rule(
      'platform-sees-domain-only',
      { path: '^libs/platform/', pathNot: TEST },
      { path: '^libs/', pathNot: '^libs/(domain|platform)/' },
    ),
    rule(
      'audit-sees-domain-only',
      { path: '^libs/audit/', pathNot: TEST },
      { path: '^libs/', pathNot: '^libs/(audit|domain)/' },
    ),
    rule(
      'cli-needs-node-only',
      { path: '^apps/cli/', pathNot: TEST },
      { path: '^libs/', pathNot: '^libs/(audit|domain)/' },
    ),
    rule(
      'cli-needs-node-only',
      { path: '^(apps/cli|libs/(audit|domain))/', pathNot: TEST },
      { dependencyTypes: ['npm'], dependencyTypesNot: ['type-only'] },
    ),
    rule(
      'execution-and-tools-see-ports',
      { path: '^libs/(execution|tools)/', pathNot: TEST },
      { path: '^libs/', pathNot: ['^libs/(domain|platform)/', '^libs/$1/'] },
    ),

    rule(
      'framework-stays-out',
      { path: '^libs/(domain|protocol|adapters|execution|tools)/', pathNot: TEST },
      { path: npm('@nestjs', 'typeorm', 'bullmq', 'ioredis', 'express') },
    ),
    rule(
      'typeorm-only-in-persistence',
      { pathNot: ['^libs/persistence/', '^migrations/', TEST] },
      { path: npm('typeorm') },
    ),
    rule(
      'pg-only-where-named',
      { pathNot: ['^libs/(persistence|messaging)/', '^libs/adapters/src/workflow/[^/]+\\.client\\.ts$', TEST] },
      { path: npm('pg', 'pg-[^/]+') },
    ),
    rule('redis-only-in-messaging', { pathNot: ['^libs/messaging/', TEST] }, { path: npm('bullmq', 'ioredis') }),

    rule('gateway-knows-no-adapter', { path: '^apps/gateway/src/' }, { path: '^libs/adapters/', pathNot: CATALOG }),
    rule(
      'runtime-uses-the-registry',
      { path: '^apps/runtime/src/' },
      { path: '^libs/adapters/', pathNot: '^libs/adapters/src/(registry\\.ts$|contract/)' },
    ),
    rule(
      'runtime-sees-ports-only',
      { path: '^apps/runtime/src/[^/]+/', pathNot: [MODULE, TEST] },
      { path: '^libs/', pathNot: '^libs/(domain|platform|execution|tools|adapters)/' },
    ),
    rule(
      'surfaces-do-not-meet',
      { path: '^apps/gateway/src/(?!core/|http/)([^/]+)/', pathNot: TEST },
      { path: '^apps/gateway/src/[^/]+/', pathNot: ['^apps/gateway/src/(core|http)/', '^apps/gateway/src/$1/'] },
    ),
    rule(
      'core-knows-no-surface',
      { path: '^apps/gateway/src/core/', pathNot: TEST },
      { path: '^apps/gateway/src/', pathNot: '^apps/gateway/src/core/' },
    ),
    rule(
      'core-sees-ports-only',
      { path: '^apps/gateway/src/core/', pathNot: [MODULE, TEST] },
      { path: '^libs/', pathNot: ['^libs/(domain|platform|execution|tools|audit)/', CATALOG] },
    ),
    rule('core-is-plain', { path: '^apps/gateway/src/core/', pathNot: [MODULE, TEST] }, { path: npm('@nestjs') }),
    rule(
      'http-knows-no-surface',
      { path: '^apps/gateway/src/http/', pathNot: TEST },
      { path: '^apps/gateway/src/', pathNot: '^apps/gateway/src/(core|http)/' },
    ),
    rule(
      'edge-goes-through-core',
      { path: '^apps/gateway/src/(http|health)/', pathNot: TEST },
      { path: '^libs/', pathNot: '^libs/(domain|platform)/' },
    ),
    rule(
      'edge-goes-through-core',
      { path: '^apps/gateway/src/(?!core/|http/|health/)[^/]+/', pathNot: TEST },
      { path: '^libs/', pathNot: '^libs/(domain|protocol)/' },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^(dist|coverage|\\.data)/', '^scripts/', '^(test/.*/|[^/]*)[^/]*\\.[cm]js$'] },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
