import { describe, expect, it } from '@jest/globals';
import { planSite } from './site.planner.js';
import { questionAbout, readReview } from './site.review.js';

const plan = planSite('a guest book with name and message; send an email to me');

describe('the question about a plan', () => {
  it('says what will be built and what will not, and carries the plan', () => {
    const { prompt, arguments: proposal } = questionAbout(plan);
    expect(prompt).toContain('Fields: Name, Message');
    expect(prompt).toContain('Will not be built: send an email to me');
    expect(proposal).toMatchObject({
      title: 'Guest book',
      fields: [{ label: 'Name', type: 'text', required: true }, { label: 'Message' }],
      actions: expect.arrayContaining(['List']),
    });
  });

  it('is asked in the language of the request', () => {
    expect(questionAbout(planSite('做一个报名表，包含姓名、手机号')).prompt).toContain('字段：姓名、手机号');
  });

  it('stays small however large the plan is, and counts what it does not show', () => {
    const label = '很'.repeat(80);
    const field = { name: 'f', label, type: 'select' as const, required: true, options: Array<string>(50).fill(label) };
    const large = { ...plan, fields: [{ ...plan.fields[0]! }, ...Array<typeof field>(39).fill(field)], notes: [label] };
    const { prompt, arguments: proposal } = questionAbout(large);
    expect(Buffer.byteLength(prompt)).toBeLessThan(5_000);
    expect(Buffer.byteLength(JSON.stringify(proposal))).toBeLessThan(5_100);
    expect(proposal).toMatchObject({ fields: [{ label: plan.fields[0]!.label }], left_out: expect.any(Number) });
    expect(proposal.left_out).toBeGreaterThanOrEqual(40);
  });
});

describe('the review of a plan', () => {
  it.each([
    [{ approved: true }, { accepted: true }],
    [{ approved: true, input: '  ' }, { accepted: true }],
    [
      { approved: false, input: ' a list of cats ' },
      { accepted: false, request: 'a list of cats' },
    ],
    [
      { approved: false, output: { request: 'a list of dogs' } },
      { accepted: false, request: 'a list of dogs' },
    ],
  ])('reads %j as %j', (answer, expected) => {
    expect(readReview(answer)).toEqual(expected);
  });

  it('does not build what nobody accepted', () => {
    expect(() => readReview({ approved: false })).toThrow(expect.objectContaining({ kind: 'rejected' }));
  });
});
