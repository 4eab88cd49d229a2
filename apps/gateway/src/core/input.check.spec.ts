import { describe, expect, it } from '@jest/globals';
import {
  type AgentDeclaration,
  type ArtifactId,
  type ArtifactRecord,
  DEFAULT_POLICY,
  type DomainError,
  INPUT_MODES,
} from '#lib/domain';
import fc from 'fast-check';
import { checkInput, findInputArtifacts, readInput } from './input.check.js';
import { bytesOfBase64 } from './input-parts.check.js';

const ARTIFACT = `art_${'0'.repeat(32)}` as ArtifactId;
const OTHER = `art_${'1'.repeat(32)}` as ArtifactId;
const AGENT: AgentDeclaration = {
  id: 'helper',
  name: 'helper',
  description: '',
  enabled: true,
  default: false,
  types: [],
  inputModes: INPUT_MODES,
  tools: [],
  policy: DEFAULT_POLICY,
  routes: [],
};

async function faults(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    const { code, faults: found } = error as DomainError;
    return [code, ...found.map(({ path }) => path)];
  }
}

const file = (more: object): object[] => [{ type: 'file', ...more }];
const plain = { media_type: 'text/plain', data: 'eA==' };

describe('the form of an input', () => {
  it.each<[unknown, readonly string[]]>([
    [1, ['/input']],
    [true, ['/input']],
    [null, ['/input']],
    [[], ['/input']],
    [
      ['x', null, []],
      ['/input/0', '/input/1', '/input/2'],
    ],
    [[{ text: 'x' }], ['/input/0/type']],
    [[{ type: 'toString' }], ['/input/0/type']],
    [[{ type: 'text' }], ['/input/0/text']],
    [[{ type: 'text', text: 'x', 'a/b': 1 }], ['/input/0/a~1b']],
    [[{ type: 'data' }], ['/input/0/data']],
    [file({}), ['/input/0']],
    [file({ ...plain, url: 'http://x/y' }), ['/input/0']],
    [file({ data: 'eA==' }), ['/input/0/media_type']],
    [file({ ...plain, data: 'eA' }), ['/input/0/data']],
    [file({ ...plain, data: 'eA= ' }), ['/input/0/data']],
    [file({ ...plain, data: 'eB==' }), ['/input/0/data']],
    [file({ ...plain, data: 'e-_=' }), ['/input/0/data']],
    [file({ ...plain, data: 7 }), ['/input/0/data']],
    [file({ ...plain, media_type: 'text' }), ['/input/0/media_type']],
    [file({ ...plain, media_type: 'text/plain\r\nx: y' }), ['/input/0/media_type']],
    [file({ ...plain, name: 'a\u0000b' }), ['/input/0/name']],
    [file({ ...plain, artifactId: ARTIFACT }), ['/input/0/artifactId']],
    [file({ artifact_id: '../x' }), ['/input/0/artifact_id']],
    [file({ url: 'x' }), ['/input/0/url']],
    [[{ type: 'image', ...plain }], ['/input/0/media_type']],
  ])('%j is refused by path', async (input, paths) => {
    expect(await faults(() => readInput(input))).toEqual(['invalid_request', ...paths]);
  });

  it.each([
    'x',
    '',
    {},
    { type: 'file' },
    [{ type: 'text', text: '' }],
    [{ type: 'data', data: null }],
    file(plain),
    file({ ...plain, data: '', name: null, url: null }),
    file({ artifact_id: ARTIFACT }),
    [{ type: 'image', media_type: 'image/png', data: 'eA==', name: 'é.png' }],
  ])('%j is taken', async (input) => {
    expect(await faults(() => readInput(input))).toMatchObject({ value: input });
  });

  it('has a bound for its parts and for the bytes of each', async () => {
    const parts = Array.from({ length: 257 }, () => ({ type: 'text', text: '' }));
    expect(await faults(() => readInput(parts))).toEqual(['invalid_request', '/input']);
    const bytes = (size: number): object[] => file({ ...plain, data: Buffer.alloc(size).toString('base64') });
    expect(await faults(() => readInput(bytes(1_048_577)))).toEqual(['payload_too_large', '/input/0/data']);
    expect(await faults(() => readInput(bytes(1_048_576)))).toHaveProperty('files');
  });

  it('takes whatever bytes there are, and counts them', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const data = Buffer.from(bytes).toString('base64');
        const [placed] = readInput(file({ ...plain, data })).files;
        expect([placed?.part.data, bytesOfBase64(data)]).toEqual([data, bytes.length]);
      }),
    );
  });
});

describe('an input for an agent', () => {
  const check = (agent: Partial<AgentDeclaration>, input: unknown): Promise<unknown> =>
    faults(() => checkInput({ ...AGENT, ...agent }, readInput(input)));

  it('may use the modes it declares, and no other', async () => {
    const parts = [{ type: 'text', text: 'x' }, ...file(plain), { type: 'data', data: {} }];
    expect(await check({ inputModes: ['text'] }, parts)).toEqual(['unsupported_input', '/input/1', '/input/2']);
    expect(await check({ inputModes: ['data'] }, 'x')).toEqual(['unsupported_input', '/input']);
    expect(await check({ inputModes: ['text'] }, {})).toEqual(['unsupported_input', '/input']);
    expect(await check({}, parts)).toBeUndefined();
  });

  it('may hold bytes of the media types it declares, and no other', async () => {
    const parts = [...file(plain), ...file({ ...plain, media_type: 'application/pdf' })];
    expect(await check({ mediaTypes: ['text/*'] }, parts)).toEqual(['unsupported_input', '/input/1']);
    expect(await check({ mediaTypes: ['text/plain', 'application/pdf'] }, parts)).toBeUndefined();
  });

  it('has to satisfy its schema when it is an object', async () => {
    const inputSchema = { type: 'object', required: ['text'], additionalProperties: false, properties: { text: {} } };
    expect(await check({ inputSchema }, { more: 1 })).toEqual(['unsupported_input', '/input/text', '/input/more']);
    expect(await check({ inputSchema }, 'x')).toBeUndefined();
  });

  it('may name URLs of the web, not too many, and of the media types the agent declares', async () => {
    const url = 'https://example.org/a';
    expect(await check({}, [...file(plain), ...file({ url })])).toBeUndefined();
    expect(await check({ mediaTypes: ['text/*'] }, file({ url }))).toEqual([
      'unsupported_input',
      '/input/0/media_type',
    ]);
    expect(await check({ mediaTypes: ['text/*'] }, file({ url, media_type: 'text/csv' }))).toBeUndefined();
    expect(await check({}, Array(17).fill(file({ url })[0]))).toEqual(['invalid_request', '/input']);
  });

  it.each(['file:///etc/passwd', 'ftp://a/b', 'https://user@a/', 'https://:p@a/', 'https://a b/', '//a/b', 'https://'])(
    'names no URL like %j',
    async (url) => {
      expect(await check({}, file({ url }))).toEqual(['invalid_request', '/input/0/url']);
    },
  );
});

describe('an artifact in an input', () => {
  const stored = { artifact_id: ARTIFACT, kind: 'input', name: 'a', media_type: 'text/plain', size: 1, sha256: 'ab' };
  const reach = async (id: ArtifactId): Promise<ArtifactRecord | undefined> =>
    id === ARTIFACT ? ({ ...stored, taskKey: null, tenant: 't', createdAtMs: 0 } as ArtifactRecord) : undefined;
  const find = (agent: Partial<AgentDeclaration>, input: unknown): Promise<unknown> =>
    faults(() => findInputArtifacts({ ...AGENT, ...agent }, readInput(input), reach));

  it('is kept once, as it is when the task comes in', async () => {
    const input = [...file({ artifact_id: ARTIFACT }), ...file({ artifact_id: ARTIFACT, name: 'again' })];
    expect(await find({}, input)).toEqual([stored]);
    expect(await find({}, 'x')).toEqual([]);
  });

  it('has to be in reach, and what its part takes it for', async () => {
    expect(await find({}, file({ artifact_id: OTHER }))).toEqual(['unsupported_input', '/input/0/artifact_id']);
    const image = [{ type: 'image', artifact_id: ARTIFACT }];
    expect(await find({}, image)).toEqual(['unsupported_input', '/input/0/artifact_id']);
    const pdf = { mediaTypes: ['application/pdf'] };
    expect(await find(pdf, file({ artifact_id: ARTIFACT }))).toEqual(['unsupported_input', '/input/0']);
  });

  it('is one of at most sixteen', async () => {
    const ids = Array.from({ length: 17 }, (_, index) => `art_${String(index).padStart(32, '0')}`);
    const input = ids.map((artifact_id) => ({ type: 'file', artifact_id }));
    expect(await find({}, input)).toEqual(['invalid_request', '/input']);
  });
});
