import { SecretStore } from '#lib/domain';
import type { Database, Statement } from '../database.js';

/** Secrets the processes of an installation share, in Postgres. */
export class PgSecretStore extends SecretStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async getOrCreate(name: string, make: () => Uint8Array): Promise<Uint8Array> {
    const found = await this.find(name);
    if (found) return found;
    await this.database.query(STORE, [name, Buffer.from(make())]);
    const stored = await this.find(name);
    if (!stored) throw new Error(`the secret ${name} was removed while it was made`);
    return stored;
  }

  private async find(name: string): Promise<Uint8Array | undefined> {
    const [row] = await this.database.query<{ value: Buffer }>(FIND, [name]);
    return row?.value;
  }
}

const FIND: Statement = { name: 'secret-store.find', text: 'select value from secrets where name = $1' };

/** Of many that make one, all take that of the first. */
const STORE: Statement = {
  name: 'secret-store.store',
  text: 'insert into secrets (name, value, created_at) values ($1, $2, clock_timestamp()) on conflict do nothing',
};
