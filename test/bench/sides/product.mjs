// The product: one gateway and one runtime, as an operator would start them.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../../scripts/terminal.mjs';

const root = path.resolve(import.meta.dirname, '../../..');

export async function startProduct() {
  const main = path.join(root, 'dist/apps/gateway/src/main.js');
  if (!existsSync(main)) throw new UserError('The product is not built: run npm run build, or measure with --floor');
}
