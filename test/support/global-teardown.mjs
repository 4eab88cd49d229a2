import { stopServices } from './services.mjs';

export default async function tearDown() {
  await stopServices();
}
