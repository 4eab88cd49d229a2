export { formatApiKey, hashSecret, isSecretOf, mintApiKey, parseApiKey } from './api-key.js';
export type { ApiKey } from './api-key.js';
export { LinkSigner, parseLinkKeys } from './link-signer.js';
export type { LinkKey, SignedRequest } from './link-signer.js';
