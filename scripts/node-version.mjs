// Imported first: what comes after it may use what older versions of Node lack.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`Switchyard needs Node 20.19 or newer, this is ${process.version}: install a newer Node\n`);
  process.exit(1);
}
