const base = {
  rootDir: import.meta.dirname,
  transform: { '^.+\\.ts$': ['@swc/jest'] },
  extensionsToTreatAsEsm: ['.ts'],
  testEnvironment: 'node',
  moduleNameMapper: {
    '^#lib/adapters/(catalog|registry)$': '<rootDir>/libs/adapters/src/$1.ts',
    '^#lib/(adapters|protocol)/([^/]+)$': '<rootDir>/libs/$1/src/$2/index.ts',
    '^#lib/([^/]+)$': '<rootDir>/libs/$1/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.data/'],
};

const withServices = {
  ...base,
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
};

export default {
  // Of all tiers: Jest knows no limit per project. What must be fast is held by the time a whole tier may take.
  testTimeout: 60_000,
  testSequencer: '<rootDir>/test/support/sequencer.mjs',
  projects: [
    {
      ...base,
      displayName: 'unit',
      setupFiles: ['<rootDir>/test/support/property-runs.mjs'],
      testMatch: ['<rootDir>/{apps,libs,test,scripts}/**/*.spec.ts'],
    },
    {
      ...withServices,
      displayName: 'integration',
      testMatch: ['<rootDir>/{apps,libs,test,scripts}/**/*.int-spec.ts'],
    },
    {
      ...withServices,
      displayName: 'e2e',
      testMatch: ['<rootDir>/test/{e2e,faults}/**/*.e2e-spec.ts'],
    },
    {
      ...withServices,
      displayName: 'interop',
      testMatch: ['<rootDir>/test/interop/*.interop-spec.ts'],
    },
    {
      // With what npm does not bring: each suite says what it needs.
      ...withServices,
      displayName: 'foreign',
      testMatch: ['<rootDir>/test/interop/*.foreign-spec.ts'],
    },
    {
      ...withServices,
      displayName: 'faults',
      testMatch: ['<rootDir>/test/faults/**/*.{e2e,fault}-spec.ts'],
    },
  ],
};
