// The client of step-stream, driven by one JSON object per line: {"n":1,"op":"run",…}. Each is answered by a line with its
// number and an "end"; what it is told meanwhile are lines of their own.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/skosovsky/toolsy"
	"github.com/skosovsky/toolsy/agents"
)

type asked struct {
	N       int    `json:"n"`
	Op      string `json:"op"`
	URL     string `json:"url"`
	Key     string `json:"key"`
	Args    string `json:"args"`    // of run and start: JSON, sent as it is
	TaskID  string `json:"taskId"`  // of observe
	Of      int    `json:"of"`      // of leave: the run whose caller goes away
	Millis  int    `json:"millis"`  // of run: the caller's own deadline
	StopAt  string `json:"stopAt"`  // of run: the label at which the consumer has had enough
	LeaveAt string `json:"leaveAt"` // of run: the event at which the caller goes away
}

type told struct {
	N      int          `json:"n"`
	Label  string       `json:"label,omitempty"`
	Status string       `json:"status,omitempty"`
	Step   *agents.Step `json:"step,omitempty"`
	Cancel *cleanup     `json:"cancel,omitempty"`
	End    *end         `json:"end,omitempty"`
}

// What the client did when its caller had gone.
type cleanup struct {
	TaskID       string `json:"taskId"`
	Stage        string `json:"stage"`
	Acknowledged bool   `json:"acknowledged"`
	Cause        string `json:"cause"`
}

type end struct {
	Result    *string      `json:"result"`
	Error     string       `json:"error,omitempty"`
	Cause     string       `json:"cause,omitempty"`
	Phase     string       `json:"phase,omitempty"`
	Outcome   string       `json:"outcome,omitempty"`
	TaskID    string       `json:"taskId,omitempty"`
	Step      *agents.Step `json:"step,omitempty"`
	IsTimeout bool         `json:"isTimeout,omitempty"`
	IsGone    bool         `json:"isGone,omitempty"`
}

type credentials struct{ key string }

func (c credentials) GetAuth(context.Context, string) (string, error) { return "Bearer " + c.key, nil }

var (
	errEnough = errors.New("the consumer has had enough")
	anything  = []byte(`{"type":"object"}`)
	out       = json.NewEncoder(os.Stdout)
	lock      sync.Mutex
	callers   = map[int]context.CancelFunc{}
)

func main() {
	lines := bufio.NewReader(os.Stdin)
	decoder := json.NewDecoder(lines)
	for {
		var one asked
		if decoder.Decode(&one) != nil {
			return
		}
		ctx, leave := callerOf(one)
		go func() {
			defer leave()
			say(told{N: one.N, End: serve(ctx, one)})
		}()
	}
}

func callerOf(one asked) (context.Context, context.CancelFunc) {
	ctx, leave := context.WithCancel(context.Background())
	if one.Millis > 0 {
		ctx, leave = context.WithTimeout(ctx, time.Duration(one.Millis)*time.Millisecond)
	}
	lock.Lock()
	defer lock.Unlock()
	callers[one.N] = leave
	return ctx, leave
}

func callerGoes(n int) {
	lock.Lock()
	defer lock.Unlock()
	callers[n]()
}

func say(line told) {
	lock.Lock()
	defer lock.Unlock()
	_ = out.Encode(line)
}

func serve(ctx context.Context, one asked) *end {
	client, err := agents.NewClient(
		one.URL,
		agents.WithAllowPrivateIPs(true),
		agents.WithCancellationObserver(func(_ context.Context, seen agents.CancellationDiagnostic) {
			say(told{N: one.N, Cancel: &cleanup{seen.TaskID, string(seen.Stage), seen.Acknowledged, textOf(seen.Cause)}})
		}),
	)
	if err != nil {
		return &end{Error: err.Error()}
	}
	defer client.CloseIdleConnections()
	switch one.Op {
	case "run":
		return call(ctx, one, client, agents.AsTool)
	case "start":
		return call(ctx, one, client, agents.AsBackgroundTool)
	case "observe":
		return observe(ctx, one, client)
	case "leave":
		callerGoes(one.Of)
		return &end{}
	}
	return &end{Error: "no such op"}
}

type maker func(name, description string, schema []byte, client *agents.Client) (toolsy.Tool, error)

// As a model's call of a tool: arguments in, progress, and one result.
func call(ctx context.Context, one asked, client *agents.Client, as maker) *end {
	tool, err := as("delegate", "Works elsewhere.", anything, client)
	if err != nil {
		return &end{Error: err.Error()}
	}
	var result *string
	env := toolsy.NewRunEnv(nil, toolsy.WithCredentials(credentials{one.Key}))
	err = tool.Execute(ctx, env, toolsy.ToolInput{ArgsJSON: []byte(one.Args)}, func(chunk toolsy.Chunk) error {
		if string(chunk.Event) == one.LeaveAt {
			callerGoes(one.N)
		}
		if chunk.Event == toolsy.EventResult {
			text := string(chunk.Data)
			result = &text
			return nil
		}
		say(told{N: one.N, Label: chunk.Progress.Label, Status: chunk.Progress.Status})
		if chunk.Progress.Label == one.StopAt {
			return errEnough
		}
		return nil
	})
	return endOf(result, err)
}

// The stream alone, of a task that somebody else may have created.
func observe(ctx context.Context, one asked, client *agents.Client) *end {
	for step, err := range client.StreamSteps(ctx, one.TaskID, "Bearer "+one.Key) {
		if err != nil {
			return endOf(nil, err)
		}
		say(told{N: one.N, Step: &step})
	}
	return &end{}
}

func endOf(result *string, err error) *end {
	seen := &end{Result: result}
	if err == nil {
		return seen
	}
	seen.Error = err.Error()
	seen.IsTimeout = errors.Is(err, toolsy.ErrTimeout)
	seen.IsGone = errors.Is(err, context.Canceled)
	var remote *agents.RemoteOutcomeError
	if errors.As(err, &remote) {
		seen.Cause = textOf(remote.Cause)
		seen.Phase, seen.Outcome, seen.TaskID, seen.Step = remote.Phase, string(remote.Outcome), remote.TaskID, remote.Step
	}
	return seen
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
