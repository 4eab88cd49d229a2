import fc from 'fast-check';

/**
 * The same cases each time, so that one commit is green or red for everybody. `PROPERTY_SEED=random` looks for new ones,
 * `PROPERTY_RUNS=10000` for longer; a failure prints the seed that finds it again.
 */
const { PROPERTY_SEED = '1764500000', PROPERTY_RUNS } = process.env;
fc.configureGlobal({
  ...(PROPERTY_SEED === 'random' ? {} : { seed: Number(PROPERTY_SEED) }),
  ...(PROPERTY_RUNS === undefined ? {} : { numRuns: Number(PROPERTY_RUNS) }),
});
