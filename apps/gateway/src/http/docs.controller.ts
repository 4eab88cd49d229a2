import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Controller, Get, Header, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { DomainError } from '#lib/domain';
import { ApiDescription } from './openapi.js';
import { Public } from './scopes.decorator.js';

const ASSETS = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const SERVED: ReadonlySet<string> = new Set(['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']);

/** No script but ours runs, nothing is fetched from elsewhere. The reader sets styles from its script. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Switchyard API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="reader"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/reader.js"></script>
</body>
</html>
`;

/** The validator badge would send the document to somebody else's server. */
const READER = "SwaggerUIBundle({ url: '/openapi.json', dom_id: '#reader', validatorUrl: null });\n";

/** The contract, for machines at `/openapi.json` and for people at `/docs`; works without a network. */
@ApiExcludeController()
@Public()
@Controller()
export class DocsController {
  constructor(private readonly description: ApiDescription) {}

  @Header('Content-Type', 'application/json; charset=utf-8')
  @Get('openapi.json')
  openapi(): string {
    return this.description.json();
  }

  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('Content-Security-Policy', POLICY)
  @Header('Cross-Origin-Opener-Policy', 'same-origin')
  @Get('docs')
  page(): string {
    return PAGE;
  }

  @Header('Content-Type', 'text/javascript; charset=utf-8')
  @Get('docs/reader.js')
  reader(): string {
    return READER;
  }

  @Get('docs/:asset')
  asset(@Param('asset') asset: string, @Res() response: Response): void {
    if (!SERVED.has(asset)) throw new DomainError('not_found', 'There is no such file.');
    response.sendFile(asset, { root: ASSETS });
  }
}
