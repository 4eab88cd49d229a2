import { SecretStore } from '#lib/domain';
import type { DataSource } from 'typeorm';
import { SecretRow } from '../entities/access.row.js';
import { orUnavailable } from '../unavailable.js';

/** Secrets the processes of an installation share, in Postgres. */
export class PgSecretStore extends SecretStore {
  constructor(private readonly source: DataSource) {
    super();
  }

  override getOrCreate(name: string, make: () => Uint8Array): Promise<Uint8Array> {
    return orUnavailable(this.findOrStore(name, make));
  }

  private async findOrStore(name: string, make: () => Uint8Array): Promise<Uint8Array> {
    const secrets = this.source.getRepository(SecretRow);
    const found = await secrets.findOneBy({ name });
    if (found) return found.value;
    const value = Buffer.from(make());
    await secrets
      .createQueryBuilder()
      .insert()
      .values({ name, value, createdAt: () => 'clock_timestamp()' })
      .orIgnore()
      .execute();
    return (await secrets.findOneByOrFail({ name })).value;
  }
}
