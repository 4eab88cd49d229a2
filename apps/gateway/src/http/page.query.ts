import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import type { PageRequest } from '#lib/domain';

const DEFAULT_LIMIT = 50;

/** How many are on a page of a list. */
export function PageLimit(): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 200, default: DEFAULT_LIMIT }),
    IsOptional(),
    IsInt(),
    Min(1),
    Max(200),
  );
}

/** Where a page of a list begins. */
export function PageCursor(): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ description: '`next_cursor` of the page before.' }),
    IsOptional(),
    IsString(),
    MaxLength(1000),
  );
}

/** A page of a list. */
export class PageQuery {
  @PageLimit()
  limit?: number;

  @PageCursor()
  cursor?: string;
}

export function decodePage({ limit = DEFAULT_LIMIT, cursor }: PageQuery): PageRequest {
  return { limit, cursor };
}
