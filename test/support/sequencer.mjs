// The slowest files first: what begins last would otherwise hold up the whole tier while other workers have nothing to do.
import { existsSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

/** Files that mostly wait, for leases and deadlines to run out; the longest first. */
const SLOW = [
  'test/faults/runtimes.e2e-spec.ts',
  'test/e2e/life.e2e-spec.ts',
  'test/e2e/answers.e2e-spec.ts',
  'test/e2e/sessions.e2e-spec.ts',
  'test/faults/runs.e2e-spec.ts',
  'test/faults/tasks.e2e-spec.ts',
  'test/faults/redis.e2e-spec.ts',
  'test/faults/crashes.e2e-spec.ts',
];

const gone = SLOW.filter((name) => !existsSync(name));
if (gone.length > 0) throw new Error(`test/support/sequencer.mjs names what is not there: ${gone}`);

const placeOf = ({ path }) => SLOW.findIndex((name) => path.replaceAll('\\', '/').endsWith(`/${name}`));

/** Jest looks for the default export. */
export default class SlowFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const slow = sorted.filter((test) => placeOf(test) >= 0).sort((one, other) => placeOf(one) - placeOf(other));
    return [...slow, ...sorted.filter((test) => placeOf(test) < 0)];
  }
}
