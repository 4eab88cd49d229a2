// The key that signs the audit trail of an embedded installation; nobody who only has the database has it.
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** The file of the key: that of AUDIT_KEY_FILE, else one beside the database, made when there is none. */
export function ensureAuditKey(dataDir) {
  if (process.env.AUDIT_KEY_FILE) return process.env.AUDIT_KEY_FILE;
  const file = path.join(dataDir, 'audit.key.pem');
  if (existsSync(file)) return file;
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const write = (name, key, mode) => {
    const made = `${name}.${process.pid}`;
    writeFileSync(made, key, { mode, flag: 'wx' });
    renameSync(made, name);
  };
  write(path.join(dataDir, 'audit.pub.pem'), publicKey.export({ type: 'spki', format: 'pem' }), 0o644);
  write(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), 0o600);
  return file;
}
