/** Secrets that all processes of an installation share and that nobody has to configure. */
export abstract class SecretStore {
  /** The stored value; when there is none, stores and returns what `make` gives, or what another process stored first. */
  abstract getOrCreate(name: string, make: () => Uint8Array): Promise<Uint8Array>;
}
