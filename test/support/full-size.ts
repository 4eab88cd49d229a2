/** True under `npm run test:faults`: tests that have two sizes run at the large one. */
export const IS_FULL_SIZE = process.env.TEST_SIZE === 'full';

/** A number of a test by the size it runs at. */
export function atFullSize(full: number, otherwise: number): number {
  return IS_FULL_SIZE ? full : otherwise;
}
