import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.agentscope.core.agent.Agent;
import io.agentscope.core.agent.RuntimeContext;
import io.agentscope.core.event.AgentEvent;
import io.agentscope.core.event.AgentEventEmitter;
import io.agentscope.harness.agent.middleware.SubagentEntry;
import io.agentscope.harness.agent.subagent.DefaultAgentManager;
import io.agentscope.harness.agent.subagent.RemoteAskPolicy;
import io.agentscope.harness.agent.subagent.SubagentDeclaration;
import io.agentscope.harness.agent.subagent.protocol.RemoteAgentEvent;
import io.agentscope.harness.agent.subagent.protocol.RemoteConfirmDecision;
import io.agentscope.harness.agent.subagent.protocol.RemoteEventCodec;
import io.agentscope.harness.agent.subagent.task.AgentProtocolTaskClient;
import io.agentscope.harness.agent.subagent.task.RemoteSubmitContext;
import io.agentscope.harness.agent.subagent.task.RemoteTaskStatus;
import io.agentscope.harness.agent.subagent.protocol.RemoteStreamDetail;
import io.agentscope.harness.agent.subagent.task.WorkspaceTaskRepository;
import io.agentscope.harness.agent.tool.AgentSpawnTool;
import io.agentscope.harness.agent.workspace.WorkspaceManager;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * AgentScope's own client, driven by one JSON object per line: {"n":1,"op":"submit",…}. Each is answered by a line with its
 * number; events of streams are lines of their own.
 */
public final class RemoteClient {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private final AgentProtocolTaskClient client = new AgentProtocolTaskClient();
    private final Map<String, String> headers;

    private RemoteClient(String key) {
        headers = Map.of("Authorization", "Bearer " + key);
    }

    public static void main(String[] args) throws Exception {
        RemoteClient remote = new RemoteClient(args[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode asked = JSON.readTree(line);
            // Each in a thread of its own: one of them may wait long.
            Thread thread = new Thread(() -> remote.serve(asked));
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void serve(JsonNode asked) {
        ObjectNode answer = JSON.createObjectNode().put("n", asked.get("n").asInt());
        try {
            answer.set("value", JSON.valueToTree(call(asked)));
        } catch (Exception error) {
            answer.put("error", String.valueOf(error.getMessage()));
        }
        print(answer);
    }

    private Object call(JsonNode asked) throws Exception {
        String url = asked.get("url").asText();
        String taskId = asked.path("taskId").asText();
        switch (asked.get("op").asText()) {
            case "submit":
                RemoteSubmitContext context =
                        RemoteSubmitContext.builder().stream(true)
                                .userId("parent-user")
                                .parentSessionId("parent-session")
                                .detail(asked.get("detail").asText())
                                .attributes(Map.of("ticket", "T-1"))
                                .denyRules(rules(asked.get("deny")))
                                .build();
                String agentId = asked.get("agentId").asText();
                client.submitTask(url, headers, taskId, agentId, asked.get("input").asText(), context);
                return null;
            case "stream":
                client.openEventStream(url, headers, taskId, 0, RemoteClient::tell);
                return null;
            case "status":
                RemoteTaskStatus status = client.getStatus(url, headers, taskId);
                ObjectNode shown = JSON.createObjectNode().put("isAwaiting", status.isAwaitingConfirm());
                shown.put("isSuccess", status.isTerminalSuccess()).put("isFailure", status.isTerminalFailure());
                shown.put("isCancelled", status.isCancelled()).put("error", status.error());
                shown.set("pending", JSON.valueToTree(status.pendingConfirms()));
                return shown;
            case "wait":
                return client.waitForResult(url, headers, taskId, asked.get("seconds").asLong());
            case "resume":
                List<RemoteConfirmDecision> decisions = new ArrayList<>();
                asked.get("decisions")
                        .fields()
                        .forEachRemaining(
                                one -> decisions.add(new RemoteConfirmDecision(one.getKey(), one.getValue().asBoolean())));
                client.resumeTask(url, headers, taskId, decisions);
                return null;
            case "cancel":
                client.cancelTask(url, headers, taskId);
                return null;
            case "spawn":
                return spawn(url, asked);
            default:
                throw new IllegalArgumentException("no such op");
        }
    }

    /** What a parent agent does: its tool, its store of tasks and its poller, and a stream it forwards what it is told to. */
    private String spawn(String url, JsonNode asked) throws Exception {
        String agentId = asked.get("agentId").asText();
        SubagentDeclaration declaration =
                SubagentDeclaration.builder()
                        .name(agentId)
                        .description("Works elsewhere.")
                        .url(url)
                        .headers(headers)
                        .remoteStreaming(true)
                        .remoteStreamDetail(RemoteStreamDetail.FULL)
                        .remoteAskPolicy(RemoteAskPolicy.valueOf(asked.get("policy").asText()))
                        .build();
        Agent nobody =
                (Agent)
                        Proxy.newProxyInstance(
                                Agent.class.getClassLoader(), new Class<?>[] {Agent.class}, (self, method, args) -> null);
        SubagentEntry entry = new SubagentEntry(agentId, "Works elsewhere.", context -> nobody, declaration);
        Path workspace = Files.createTempDirectory("agentscope-parent");
        AgentSpawnTool tool =
                new AgentSpawnTool(
                        new DefaultAgentManager(List.of(entry), null),
                        new WorkspaceTaskRepository(new WorkspaceManager(workspace), "parent"),
                        0);
        RuntimeContext context = RuntimeContext.builder().sessionId("s1").userId("u1").build();
        AgentEventEmitter emitter = RemoteClient::forward;
        return tool.agentSpawn(context, null, agentId, asked.get("input").asText(), null, 30, null)
                .contextWrite(known -> known.put(AgentEventEmitter.CONTEXT_KEY, emitter))
                .block(Duration.ofSeconds(40));
    }

    private static void forward(AgentEvent event) {
        ObjectNode line = JSON.createObjectNode();
        line.set("forwarded", JSON.valueToTree(event));
        print(line);
    }

    private static List<Map<String, String>> rules(JsonNode tools) {
        List<Map<String, String>> rules = new ArrayList<>();
        if (tools != null) tools.forEach(tool -> rules.add(Map.of("tool_name", tool.asText(), "behavior", "DENY")));
        return rules;
    }

    /** What came, and what the parent makes of it. */
    private static void tell(RemoteAgentEvent event) {
        ObjectNode line = JSON.createObjectNode();
        line.set("event", JSON.valueToTree(event));
        Optional<AgentEvent> decoded = RemoteEventCodec.toAgentEvent(event);
        decoded.ifPresent(one -> line.set("decoded", JSON.valueToTree(one)));
        print(line);
    }

    private static synchronized void print(ObjectNode line) {
        OUT.println(line);
    }
}
