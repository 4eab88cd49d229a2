import type { AgentCard, AgentInterface, AgentSkill } from '@a2a-js/sdk';
import type { AgentDeclaration, InputMode } from '#lib/domain';
import { EXTENSION } from './extension.js';

/** What a card is made of. */
export interface CardTerms {
  readonly agent: Pick<AgentDeclaration, 'id' | 'name' | 'description' | 'types' | 'inputModes' | 'mediaTypes'>;
  /** Of the declaration. */
  readonly version: string;
  /** Where callers reach us, without a slash at its end. */
  readonly baseUrl: string;
  /** Named to those who have shown who they are. */
  readonly tools?: readonly string[];
}

/** Versions spoken on every binding, the newest first. */
export const VERSIONS = ['1.0', '0.3'] as const;

const MODES: Readonly<Record<InputMode, string>> = {
  text: 'text/plain',
  data: 'application/json',
  file: '*/*',
  image: 'image/*',
  audio: 'audio/*',
  video: 'video/*',
};
const OUTPUT_MODES = ['text/plain', 'application/json'];

/** The card of an agent (A2A 1.0, "AgentCard"); with `tools` the extended one. */
export function createCard({ agent, version, baseUrl, tools = [] }: CardTerms): AgentCard {
  return {
    name: agent.name,
    description: agent.description,
    version,
    supportedInterfaces: VERSIONS.flatMap((spoken) =>
      interfacesOf(`${baseUrl}/a2a/${encodeURIComponent(agent.id)}`, spoken),
    ),
    provider: { organization: 'Switchyard', url: baseUrl },
    documentationUrl: `${baseUrl}/docs`,
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: true,
      extensions: [
        {
          uri: EXTENSION,
          description:
            'What a waiting task asks and how it is answered, as data; where each update stands in the log of its task.',
          required: false,
          params: undefined,
        },
      ],
    },
    securitySchemes: {
      bearer: {
        scheme: { $case: 'httpAuthSecurityScheme', value: { description: '', scheme: 'Bearer', bearerFormat: '' } },
      },
      apiKey: {
        scheme: { $case: 'apiKeySecurityScheme', value: { description: '', location: 'header', name: 'X-API-Key' } },
      },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }, { schemes: { apiKey: { list: [] } } }],
    defaultInputModes: modesOf(agent),
    defaultOutputModes: OUTPUT_MODES,
    skills: [...skillsOf(agent), ...tools.map((tool) => skill(tool, `May call ${tool}.`, 'tool'))],
    signatures: [],
  };
}

function interfacesOf(url: string, protocolVersion: string): AgentInterface[] {
  return [
    { url: `${url}/jsonrpc`, protocolBinding: 'JSONRPC', protocolVersion, tenant: '' },
    { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion, tenant: '' },
  ];
}

function modesOf({ inputModes, mediaTypes }: CardTerms['agent']): string[] {
  const modes = inputModes.flatMap((mode) => (mode === 'file' && mediaTypes ? mediaTypes : [MODES[mode]]));
  return [...new Set(modes)];
}

/** One for each type of task it takes. */
function skillsOf({ id, name, description, types }: CardTerms['agent']): AgentSkill[] {
  if (types.length === 0) return [{ ...skill(id, description, 'agent'), name }];
  return types.map((type) => skill(type, description, 'task'));
}

function skill(id: string, description: string, tag: string): AgentSkill {
  return {
    id,
    name: id,
    description,
    tags: [tag],
    examples: [],
    inputModes: [],
    outputModes: [],
    securityRequirements: [],
  };
}
