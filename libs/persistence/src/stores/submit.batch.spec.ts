import { describe, expect, it } from '@jest/globals';
import type { Submission, TaskId } from '#lib/domain';
import { createSubmission } from '../../../../test/support/submissions.js';
import { splitBatch } from './submit.batch.js';

const one = (change: Partial<Submission>): Submission => createSubmission('bv', change);

describe('splitBatch', () => {
  it('writes what is independent together, tasks in line of one session too', () => {
    const batch = [one({}), one({ sessionId: 's' }), one({ sessionId: 's' }), one({ idempotencyKey: 'k' })];
    expect(splitBatch(batch)).toEqual([batch]);
  });

  it('writes a key that comes again in a statement of its own', () => {
    const twice = (principal: string) => one({ idempotencyKey: 'k', principal });
    const [first, again, other] = [twice('ann'), twice('ann'), twice('bob')];
    expect(splitBatch([first, again, other])).toEqual([[first, other], [again]]);
    const named = () => one({ taskId: 't' as TaskId });
    const [here, there] = [named(), named()];
    expect(splitBatch([here, there])).toEqual([[here], [there]]);
  });

  it('lets a task that asks for more than a place in line see those before it', () => {
    const [plain, alone, over, elsewhere, behind] = [
      one({ sessionId: 's' }),
      one({ sessionId: 's', sessionStrategy: 'reject' }),
      one({ sessionId: 's', sessionStrategy: 'interrupt' }),
      one({ sessionId: 's', sessionStrategy: 'reject', userId: 'carol' }),
      one({ sessionId: 's', sessionStrategy: 'enqueue' }),
    ];
    expect(splitBatch([plain, alone, over, elsewhere, behind])).toEqual([[plain, elsewhere, behind], [alone], [over]]);
  });
});
