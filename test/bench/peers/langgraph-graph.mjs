// Two nodes, so that a streamed run is three events: metadata and one update for each.
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ text: Annotation() });

export const graph = new StateGraph(State)
  .addNode('work', () => ({ text: 'working' }))
  .addNode('answer', () => ({ text: 'done' }))
  .addEdge(START, 'work')
  .addEdge('work', 'answer')
  .addEdge('answer', END)
  .compile();
