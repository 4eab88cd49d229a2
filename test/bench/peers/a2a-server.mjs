// The A2A SDK's own server, in memory: a task, a working status, a completed status.
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { A2A_PROTOCOL_VERSION, TaskState } from '@a2a-js/sdk';
import express from 'express';

const card = {
  name: 'bench',
  description: 'three events',
  supportedInterfaces: [
    { url: 'http://127.0.0.1/', protocolBinding: 'JSONRPC', tenant: '', protocolVersion: A2A_PROTOCOL_VERSION },
  ],
  version: '1.0.0',
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text'],
  defaultOutputModes: ['text'],
  skills: [],
  documentationUrl: '',
  signatures: [],
};

const executor = {
  async cancelTask() {},
  async execute({ taskId, contextId, userMessage }, bus) {
    const status = (state) => ({ state, timestamp: new Date().toISOString(), message: undefined });
    const submitted = status(TaskState.TASK_STATE_SUBMITTED);
    const task = { id: taskId, contextId, status: submitted, artifacts: [], history: [userMessage], metadata: {} };
    bus.publish(AgentEvent.task(task));
    for (const state of [TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_COMPLETED]) {
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: {} }));
    }
  },
};

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
const app = express();
app.use(jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
