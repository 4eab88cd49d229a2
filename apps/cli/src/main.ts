import { verifyAudit } from './audit.verify.js';
import { type Command, isUsageError, type Output } from './command.js';

/** By the words that call them. */
const COMMANDS: Readonly<Record<string, Command>> = { 'audit verify': verifyAudit };

const HELP = `switchyard: what is done with Switchyard from a terminal.

${Object.entries(COMMANDS)
  .map(([words, { summary }]) => `  switchyard ${words.padEnd(16)} ${summary}`)
  .join('\n')}

  switchyard <command> --help   says how.
`;

const HELP_WORDS: ReadonlySet<string> = new Set(['--help', '-h', 'help']);

/** Runs a command line. Answers its exit code: 0 all is well, 1 something was found, 2 it could not be done. */
export async function run(args: readonly string[], output: Output): Promise<number> {
  const name = Object.keys(COMMANDS).find((words) => words.split(' ').every((word, at) => args[at] === word));
  const command = COMMANDS[name ?? ''];
  if (name === undefined || command === undefined) return noCommand(args, output);
  const rest = args.slice(name.split(' ').length);
  if (rest.some((word) => HELP_WORDS.has(word))) {
    output.out(command.help);
    return 0;
  }
  try {
    return await command.run(rest, output);
  } catch (error) {
    if (!isUsageError(error)) throw error;
    output.err(`${error.message}\n`);
    return 2;
  }
}

function noCommand(args: readonly string[], { out, err }: Output): number {
  if (args.length === 0 || HELP_WORDS.has(args[0] ?? '')) {
    out(HELP);
    return 0;
  }
  err(`There is no such command.\n\n${HELP}`);
  return 2;
}
