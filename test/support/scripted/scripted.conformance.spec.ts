import { describeConformance } from '../adapter.conformance.js';
import { ScriptedAdapter, scriptedDescriptor, type ScriptStep } from './index.js';

const step: ScriptStep = { event: { type: 'step.started', payload: { step_id: 's', step_name: 'Look' } } };
const done: ScriptStep = { event: { type: 'step.completed', payload: { step_id: 's' } } };
const script = (...steps: ScriptStep[]) => ({ input: steps });

describeConformance(scriptedDescriptor, async () => ({
  adapter: new ScriptedAdapter(),
  works: (word) => script(step, { wait_ms: 1 }, done, { result: word }),
  lasts: script(step, { wait_ms: 60_000 }, done, { result: 'late' }),
  checkpoints: script(step, done, { checkpoint: {} }, { result: 'done' }),
  pauses: {
    given: script(
      step,
      done,
      { pause: [{ tool_call_id: 'q', kind: 'question', prompt: 'Go on?' }] },
      { checkpoint: {} },
      { result: 'done' },
    ),
    answer: () => ({ decisions: [], input: 'yes', results: [] }),
  },
  chatty: script({ repeat: 1_000_000, event: { type: 'message.delta', payload: { message_id: 'm', text: 'x{i}' } } }),
  faults: {
    drop: { given: script({ throw: { kind: 'unavailable' } }), kind: 'unavailable' },
    garbage: { given: script({ throw: { kind: 'protocol' } }), kind: 'protocol' },
    refusal: { given: script({ throw: { kind: 'rejected' } }), kind: 'rejected' },
  },
  close: async () => undefined,
}));
