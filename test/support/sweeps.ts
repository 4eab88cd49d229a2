import { DeadlinesSweep, type DeadlinesPorts } from '../../libs/execution/src/sweeps/deadlines.sweep.js';
import { ExpiriesSweep, type ExpiriesPorts } from '../../libs/execution/src/sweeps/expiries.sweep.js';

/** Ends what nobody has answered in time, as any process does once a second. */
export function sweepExpiries(ports: ExpiriesPorts): Promise<void> {
  return new ExpiriesSweep(ports).runOnce();
}

/** Ends what is past its deadline, as any process does once a second. */
export function sweepDeadlines(ports: DeadlinesPorts): Promise<void> {
  return new DeadlinesSweep(ports).runOnce();
}
