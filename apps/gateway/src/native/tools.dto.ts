import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsString, Matches } from 'class-validator';

const KINDS = ['builtin', 'http', 'mcp', 'mcp_server'] as const;
const STATES = ['ready', 'held', 'withdrawn', 'disabled'] as const;
const OBJECT = { type: 'object', additionalProperties: true } as const;

/** What a server offers under a name, and what of it was accepted. */
export class OfferAnswer {
  @ApiProperty({ description: 'The MCP server that lists it.' })
  server!: string;

  @ApiProperty({ description: 'What the server calls it.' })
  remote_name!: string;

  @ApiProperty({ description: 'Of everything the server says of it: what accepting names.' })
  digest!: string;

  @ApiPropertyOptional({ description: 'Of what was accepted; absent: nothing was.' })
  accepted_digest?: string;

  @ApiProperty()
  description!: string;

  @ApiProperty(OBJECT)
  parameters!: Readonly<Record<string, unknown>>;

  @ApiProperty({ type: 'string', format: 'date-time' })
  seen_at!: string;
}

export class ToolAnswer {
  @ApiProperty()
  tool_id!: string;

  @ApiProperty({ enum: KINDS })
  kind!: (typeof KINDS)[number];

  @ApiProperty({ enum: STATES, description: '`held`: nobody has accepted what its server says of it.' })
  state!: (typeof STATES)[number];

  @ApiPropertyOptional()
  description?: string;

  @ApiPropertyOptional({ ...OBJECT, description: 'JSON Schema of its arguments.' })
  parameters?: Readonly<Record<string, unknown>>;

  @ApiPropertyOptional({ description: 'A call made twice does no more than one.' })
  idempotent?: boolean;

  @ApiPropertyOptional({ description: 'The longest a call may take.' })
  timeout_seconds?: number;

  @ApiPropertyOptional({ description: 'Digest of what is declared of it.' })
  version?: string;

  @ApiPropertyOptional({ ...OBJECT, description: 'As in agents.yaml; for operators only.' })
  declaration?: Readonly<Record<string, unknown>>;

  @ApiPropertyOptional({ enum: ['file', 'api'], description: 'Where it was declared last; for operators only.' })
  origin?: 'file' | 'api';

  @ApiPropertyOptional({ type: 'string', format: 'date-time', description: 'For operators only.' })
  updated_at?: string;

  @ApiPropertyOptional({ type: OfferAnswer, description: 'For operators only.' })
  offer?: OfferAnswer;
}

export class ToolsAnswer {
  @ApiProperty({ type: [ToolAnswer] })
  tools!: readonly ToolAnswer[];

  @ApiProperty({ type: 'string', nullable: true })
  next_cursor!: string | null;
}

export class AcceptToolBody {
  @ApiProperty({ description: 'The digest that was looked at.' })
  @IsString()
  @Matches(/^[0-9a-f]{64}$/)
  digest!: string;
}
