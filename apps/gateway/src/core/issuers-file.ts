import { DEFAULT_CEILING, type Issuer, type Scope, SCOPES, TOKEN_ALGORITHMS } from '#lib/domain';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';

/** The file cannot be used; the message names every fault by its path. */
export class IssuersFileError extends Error {
  override readonly name = 'IssuersFileError';
}

const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d+)?(\/|$)/;
const name = z.string().regex(/^[^\p{Cc}\p{Cs}]{1,200}$/u, 'must be 1 to 200 characters');
const claim = z
  .string()
  .min(1)
  .max(500)
  .refine(
    (path) => !/~(?![01])/.test(path) || !path.startsWith('/'),
    'must be a claim, or a JSON Pointer such as /realm/roles',
  );
const secureUrl = z
  .string()
  .refine((url) => URL.canParse(url) && (url.startsWith('https://') || LOOPBACK.test(url)), 'must be an https URL')
  .refine((url) => !/[?#]/.test(url), 'must have no query and no fragment');
const scope = z.enum(SCOPES);
const scopes = z.array(scope).min(1);
const oneOrMore = <T extends z.ZodType>(item: T) =>
  z.union([item, z.array(item).min(1)]).transform((value) => (Array.isArray(value) ? value : [value]));

const TENANT = z.union([
  z.strictObject({ value: name }),
  z.strictObject({ claim, names: z.record(z.string(), name).optional() }),
]);

const SCOPE_MAPPING = z
  .strictObject({
    claim: claim.optional(),
    names: z.record(z.string(), scopes).optional(),
    value: scopes.optional(),
    ceiling: scopes.optional(),
  })
  .refine((mapping) => mapping.claim !== undefined || mapping.value !== undefined, 'must have a claim or a value')
  .refine((mapping) => mapping.claim !== undefined || mapping.names === undefined, 'must have a claim beside names');

const ISSUER = z.strictObject({
  id: z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z 0-9 -'),
  issuer: secureUrl,
  jwks_uri: secureUrl.optional(),
  audience: oneOrMore(name),
  algorithms: z.array(z.enum(TOKEN_ALGORITHMS)).min(1).default(['RS256', 'ES256', 'EdDSA']),
  typ: z.string().min(1).max(100).default('at+jwt'),
  clock_tolerance_seconds: z.number().int().min(0).max(120).default(5),
  tenant: TENANT,
  principal: z.strictObject({ claim: claim.default('sub'), prefix: z.string().max(100).default('') }).prefault({}),
  scopes: SCOPE_MAPPING,
});

const FILE = z
  .strictObject({ issuers: z.array(ISSUER).min(1) })
  .refine(({ issuers }) => isEach(issuers.map(({ id }) => id)), 'two issuers have the same id')
  .refine(({ issuers }) => isEach(issuers.map(({ issuer }) => issuer)), 'two issuers have the same issuer');

function isEach(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}

/** Without a file no tokens are believed. @throws IssuersFileError */
export async function readIssuersFile(path: string | undefined): Promise<readonly Issuer[]> {
  if (path === undefined) return [];
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new IssuersFileError(`it cannot be read (${error.code})`);
  });
  return parseIssuersFile(text);
}

/** @throws IssuersFileError with every fault */
export function parseIssuersFile(text: string): readonly Issuer[] {
  const { data, error } = FILE.safeParse(parseYaml(text));
  if (error) throw new IssuersFileError(error.issues.flatMap(sentencesOf).join('; '));
  return data.issuers.map(issuerOf);
}

type Issue = z.core.$ZodIssue;

/** Of a choice between forms, what is wrong with the one that comes closest. */
function sentencesOf(issue: Issue): readonly string[] {
  if (issue.code === 'invalid_union') {
    const closest = [...issue.errors].sort((a, b) => depthOf(b) - depthOf(a) || a.length - b.length)[0] ?? [];
    return closest.flatMap((inner) => sentencesOf({ ...inner, path: [...issue.path, ...inner.path] }));
  }
  const path = issue.path.map((part) => `/${String(part)}`).join('');
  return [`${path || 'the file'}: ${issue.message}`];
}

function depthOf(issues: readonly Issue[]): number {
  return Math.max(...issues.map(({ path }) => path.length));
}

function issuerOf(declared: z.infer<typeof ISSUER>): Issuer {
  const { id, issuer, jwks_uri: jwksUri, audience, algorithms, typ, tenant, principal, scopes: given } = declared;
  return {
    id,
    issuer,
    ...(jwksUri === undefined ? {} : { jwksUri }),
    audiences: audience,
    algorithms,
    typ: typ.replace(/^application\//i, ''),
    toleranceSeconds: declared.clock_tolerance_seconds,
    mapping: {
      tenant: 'value' in tenant ? tenant : { claim: tenant.claim, ...mapOf(tenant.names) },
      principal,
      scopes: {
        value: given.value ?? [],
        ...(given.claim === undefined ? {} : { claim: given.claim }),
        ...mapOf(given.names),
        ceiling: new Set<Scope>(given.ceiling ?? DEFAULT_CEILING),
      },
    },
  };
}

function mapOf<T>(names: Readonly<Record<string, T>> | undefined): { readonly names?: ReadonlyMap<string, T> } {
  return names === undefined ? {} : { names: new Map(Object.entries(names)) };
}

function parseYaml(text: string): unknown {
  try {
    return parse(text, { prettyErrors: true, maxAliasCount: 100 });
  } catch (error) {
    const [line] = (error as Error).message.split('\n');
    throw new IssuersFileError(line ?? 'it is not YAML');
  }
}
