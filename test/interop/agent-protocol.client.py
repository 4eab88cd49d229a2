"""Drives one task by the official Python client, as its users do, and prints what it saw as JSON."""

import asyncio
import json
import os
import sys

from agent_protocol_client import AgentApi, ApiClient, Configuration, StepRequestBody, TaskRequestBody
from agent_protocol_client.exceptions import ApiException


async def main(url, key, path):
    async with ApiClient(Configuration(host=url)) as client:
        client.set_default_header("Authorization", "Bearer " + key)
        client.set_default_header("X-Agent-Id", "scripted")
        api = AgentApi(client)
        script = json.dumps([
            {"event": {"type": "step.started", "payload": {"step_id": "plan", "step_name": "plan"}}},
            {"event": {"type": "step.completed", "payload": {"step_id": "plan"}}},
            {"artifact": {"name": "made.txt", "text": "made"}},
            {"result": "done"},
        ])
        created = await api.create_agent_task(task_request_body=TaskRequestBody(input=script, additional_input={"n": 1}))
        task_id = created.task_id
        steps = []
        while not (steps and steps[-1].is_last):
            # What is left out of the body is sent as null by some.
            body = StepRequestBody(input="y") if len(steps) == 1 else None
            steps.append(await api.execute_agent_task_step(task_id=task_id, step_request_body=body))
        listed = await api.list_agent_task_steps(task_id=task_id, current_page=1, page_size=1)
        artifacts = await api.list_agent_task_artifacts(task_id=task_id)
        made = next(artifact for artifact in artifacts.artifacts if artifact.agent_created)
        content = await api.download_agent_task_artifact(task_id=task_id, artifact_id=made.artifact_id)
        held = await api.create_agent_task(task_request_body=TaskRequestBody(input="x", additional_input=None))
        uploaded = await api.upload_agent_task_artifacts(task_id=held.task_id, file=path, relative_path="in")
        again = await api.download_agent_task_artifact(task_id=held.task_id, artifact_id=uploaded.artifact_id)
        try:
            await api.get_agent_task(task_id="none")
            missing = None
        except ApiException as error:
            missing = [error.status, json.loads(error.body)["message"]]
        tasks = await api.list_agent_tasks(page_size=2)
        return {
            "created": created.to_dict(),
            "task": (await api.get_agent_task(task_id=task_id)).to_dict(),
            "steps": [step.to_dict() for step in steps],
            "step": (await api.get_agent_task_step(task_id=task_id, step_id=steps[0].step_id)).to_dict(),
            "listed": listed.to_dict(),
            "content": bytes(content).decode(),
            "uploaded": uploaded.to_dict(),
            "again": bytes(again).decode(),
            "missing": missing,
            "tasks": [task.task_id for task in tasks.tasks],
            "held": held.task_id,
        }


print(json.dumps(asyncio.run(main(sys.argv[1], os.environ["KEY"], sys.argv[2]))))
