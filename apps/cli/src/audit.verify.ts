import { open, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import {
  describe,
  ExportVerifier,
  type HeadKey,
  isEverything,
  parseHeadKeys,
  type Verdict,
  type VerifyOptions,
} from '#lib/audit';
import type { AuditHead } from '#lib/domain';
import { type Command, type Output, UsageError } from './command.js';

const HELP = `switchyard audit verify EXPORT --key PUBLIC.PEM

Checks an export of the audit trail (JSONL) without a server: that no record was altered, removed, put in, moved or
cut off, and that what remains is what the key has signed. EXPORT may be - for what comes in.

  --key FILE      public keys that may have signed, in PEM; may be given more than once
  --heads FILE    heads that were kept elsewhere, one JSON object a line: shows a tail that was cut off, and a history that
                  was written anew by somebody with the key; may be given more than once
  --keep-days N   name records that were removed by retention before they were so many days old; otherwise what was signed when they
                  were removed says how long they had to be kept
  --unsigned      do not ask for signatures: for a trail that has no key. Shows only what does not fit together
  --json          the outcome as JSON

Ends with 0 when all is well, 1 when something was found, 2 when it could not be checked.
`;

/** More are counted, and not shown. */
const SHOWN = 20;

const OPTIONS = {
  key: { type: 'string', multiple: true },
  heads: { type: 'string', multiple: true },
  'keep-days': { type: 'string' },
  unsigned: { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

interface Ask extends VerifyOptions {
  readonly file: string;
  readonly json: boolean;
}

export const verifyAudit: Command = {
  summary: 'check an export of the audit trail, offline',
  help: HELP,
  async run(args, output) {
    const ask = await readAsk(args);
    const verifier = new ExportVerifier(ask);
    await eachLine(ask.file, (line, no) => verifier.add(line, no));
    const verdict = verifier.end();
    output.out(ask.json ? `${JSON.stringify(asJson(verdict))}\n` : asText(verdict, ask, output));
    return verdict.findings.length === 0 ? 0 : 1;
  },
};

async function readAsk(args: readonly string[]): Promise<Ask> {
  const { values, positionals } = parse(args);
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0)
    throw new UsageError('Name one export: switchyard audit verify EXPORT --key FILE');
  if ((values.key === undefined) === (values.unsigned !== true)) {
    throw new UsageError('Give --key FILE, or --unsigned for a trail that has no key; not both.');
  }
  const keys = values.key && (await Promise.all(values.key.map(readKeys))).flat();
  const checkpoints = (await Promise.all((values.heads ?? []).map(readHeads))).flat();
  return { file, keys, checkpoints, keepDays: daysOf(values['keep-days']), json: values.json === true };
}

function daysOf(text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,5}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new UsageError('--keep-days must be a whole number of days.');
}

function parse(
  args: readonly string[],
): ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>> {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function readKeys(file: string): Promise<readonly HeadKey[]> {
  const pem = await readFile(file, 'utf8').catch((error: unknown) => unreadable(file, error));
  const keys = parseHeadKeys(pem);
  if (keys === undefined) throw new UsageError(`${file}: these are no Ed25519 keys in PEM.`);
  return keys;
}

/** A line that was torn when its writer died comes again, whole. */
async function readHeads(file: string): Promise<readonly AuditHead[]> {
  const heads: AuditHead[] = [];
  await eachLine(file, (line) => {
    const { size, root } = (line ?? {}) as Partial<AuditHead>;
    if (typeof size === 'number' && typeof root === 'string') heads.push(line as AuditHead);
  });
  if (heads.length === 0) throw new UsageError(`${file}: there are no heads in it.`);
  return heads;
}

/** What is no JSON comes as undefined. */
async function eachLine(file: string, take: (line: unknown, no: number) => void): Promise<void> {
  const input = file === '-' ? process.stdin : await openFile(file);
  let no = 0;
  try {
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      no += 1;
      if (text !== '') take(parseLine(text), no);
    }
  } catch (error) {
    unreadable(file, error);
  }
}

async function openFile(file: string): Promise<NodeJS.ReadableStream> {
  const handle = await open(file).catch((error: unknown) => unreadable(file, error));
  if ((await handle.stat()).isDirectory()) {
    await handle.close();
    throw new UsageError(`${file}: it is a folder.`);
  }
  return handle.createReadStream();
}

function unreadable(file: string, error: unknown): never {
  throw new UsageError(`${file}: it cannot be read (${(error as NodeJS.ErrnoException).code ?? 'no reason given'}).`);
}

function parseLine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asJson({ findings, head, ...counts }: Verdict): object {
  const shown = findings.slice(0, SHOWN).map((finding) => ({ ...finding, text: describe(finding) }));
  return { verified: findings.length === 0, findings: shown, found: findings.length, head: head ?? null, ...counts };
}

function asText(verdict: Verdict, { keys, checkpoints }: Ask, { colours }: Output): string {
  const paint = (code: number, text: string): string => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);
  const { findings } = verdict;
  const lines =
    findings.length === 0
      ? [paint(32, '✓ The audit trail is what was sealed.'), ...summary(verdict, { keys, checkpoints })]
      : [
          paint(
            31,
            `✗ ${findings.length === 1 ? 'One thing was' : `${findings.length} things were`} found, the first is:`,
          ),
          '',
        ]
          .concat(findings.slice(0, SHOWN).map((finding, at) => `${at === 0 ? '→' : ' '} ${describe(finding)}`))
          .concat(findings.length > SHOWN ? [`  … and ${findings.length - SHOWN} more`] : [])
          .concat('', ...summary(verdict, { keys, checkpoints }));
  return `${lines.join('\n')}\n`;
}

function summary(
  { header, head, records, unsealed, prunings, pruned, checkpoints: compared }: Verdict,
  { keys, checkpoints }: VerifyOptions,
): string[] {
  const signed = keys === undefined || head?.kid == null ? 'not signed' : `signed by ${head.kid}`;
  const rows: [string, string][] = [
    ['records', `${records} of ${header?.size ?? 0}${isEverything(header) ? '' : ' (a part was asked for)'}`],
    ...prunings.map(({ tenant, size, days, at }): [string, string] => [
      'not kept',
      `${tenant === null ? 'records' : `records of tenant ${tenant}`} before ${size}: ${days} days were over on ${at.slice(0, 10)}`,
    ]),
    ...(pruned > 0 ? [['removed', `${pruned} of those`] satisfies [string, string]] : []),
    ['head', head === undefined ? 'none' : `${head.size} records, ${signed}, ${head.at}`],
    [
      'heads kept',
      checkpoints.length === 0
        ? 'none given: a tail that was cut off would not show'
        : `${compared} of ${checkpoints.length} compared`,
    ],
    ['not sealed yet', String(unsealed)],
    ['log', header?.log ?? 'none'],
  ];
  return rows.map(([name, value]) => `  ${name.padEnd(15)} ${value}`);
}
