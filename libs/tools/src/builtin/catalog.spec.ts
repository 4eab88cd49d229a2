import { describe, expect, it } from '@jest/globals';
import { BUILTIN_TOOLS } from './catalog.js';
import { detectLanguage } from './language.js';

describe('BUILTIN_TOOLS', () => {
  it('describe their arguments as closed objects', () => {
    for (const [name, tool] of BUILTIN_TOOLS) {
      expect(tool.name).toBe(name);
      expect(tool.parameters).toMatchObject({ type: 'object', additionalProperties: false });
    }
  });
});

describe('detectLanguage', () => {
  it.each([
    ['The quick brown fox jumps over the lazy dog.', 'en'],
    ['Nice!', 'en'],
    ['今天天气很好，我们去公园散步。', 'zh'],
    ['我用 iPhone 和 MacBook 办公。', 'zh'],
    ['これはとても良い映画でした。', 'und'],
    ['La película fue muy interesante y los actores trabajaron bien.', 'und'],
    ['42', 'und'],
  ])('takes "%s" for %s', (text, language) => {
    expect(detectLanguage(text)).toBe(language);
  });
});
