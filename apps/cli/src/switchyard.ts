import { NO_COLOR } from './config.js';
import { run } from './main.js';

const output = {
  out: (text: string) => void process.stdout.write(text),
  err: (text: string) => void process.stderr.write(text),
  colours: process.stdout.isTTY === true && !NO_COLOR,
};

run(process.argv.slice(2), output).then(
  (code) => void (process.exitCode = code),
  (error: unknown) => {
    output.err(`It could not be done: ${error instanceof Error ? error.message : 'no reason given'}.\n`);
    process.exitCode = 2;
  },
);
