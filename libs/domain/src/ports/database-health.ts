/** What stands between the database and serving. */
export type DatabaseFault = 'migrations' | 'partitions';

/** Whether the database can be worked with. */
export abstract class DatabaseHealth {
  /**
   * `migrations`: the schema is not the one this version was built for. `partitions`: tomorrow's events have no place.
   * Empty when all is well. @throws UnavailableError when the database cannot be reached.
   */
  abstract faults(): Promise<readonly DatabaseFault[]>;
}
