import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { ModelEndpoint } from '../contract/index.js';
import { LocalModel } from './local-model.js';

/** What the framework drives: either wire looks the same to it. */
export type DialogueModel = ReturnType<ReturnType<typeof createOpenAICompatible>['chatModel']>;

// The framework prints its warnings to the console unless told not to.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** The model behind an OpenAI-compatible endpoint, or the local one when none is configured. */
export function createModel(endpoint: ModelEndpoint | undefined): DialogueModel {
  if (!endpoint) return new LocalModel();
  const provider = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: endpoint.baseUrl,
    ...(endpoint.apiKey === '' ? {} : { apiKey: endpoint.apiKey }),
    includeUsage: true,
  });
  return provider.chatModel(endpoint.name);
}
