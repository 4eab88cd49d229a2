import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { toolFaults } from '#lib/tools';

/** Blocks of YAML that declare tools, with the comment signs of agents.yaml taken off. */
function declared(file: string): readonly unknown[] {
  const text = readFileSync(file, 'utf8');
  const blocks = file.endsWith('.md')
    ? Array.from(text.matchAll(/```yaml\n([\s\S]*?)```/g), ([, block]) => block ?? '')
    : [text.slice(text.lastIndexOf('\n# tools:') + 1).replace(/^# ?/gm, '')];
  return blocks.flatMap((block) => (parse(block) as { readonly tools: readonly unknown[] }).tools);
}

describe('the declarations of tools that are shown', () => {
  it.each([
    ['docs/tools.md', ['weather', 'files', 'notes']],
    ['agents.yaml', ['weather']],
  ])('in %s can be used as they are', (file, ids) => {
    const tools = declared(file);
    expect(tools.map((tool) => (tool as { readonly id: string }).id)).toEqual(ids);
    expect(tools.map((tool) => toolFaults(tool, { origin: 'file', stdio: 'file' }))).toEqual(ids.map(() => []));
  });
});
