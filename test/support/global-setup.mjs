import { build } from '../../scripts/build.mjs';
import { startServices } from './services.mjs';

// Thread files and child processes run from dist/, and so does the migration of the template database.
export default async function setUp() {
  await build();
  await startServices();
}
