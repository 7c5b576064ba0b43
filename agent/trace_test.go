package agent_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/telemetry/tracing"
	"github.com/jobagent/jobagent/agent/telemetry/tracing/export"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
	"github.com/jobagent/jobagent/testenv/otlp"
)

// traced starts an agent that exports to a receiver. stop ends the agent, then the export.
func (f *fixture) traced(t *testing.T, receiver *otlp.Receiver, cfg agent.Config) (stop func()) {
	t.Helper()
	traces, err := export.New(t.Context(), export.Config{Endpoint: receiver.URL, Version: "test"}, zaptest.NewLogger(t))
	require.NoError(t, err)
	tools := agents.Tools(t, f.Env, f.Store)
	tools.Traces = traces
	hosting, err := agent.New(cfg, f.Store, tools, nil, zaptest.NewLogger(t))
	require.NoError(t, err)
	stopAgent := agents.Run(t, hosting)
	return func() {
		stopAgent()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		require.NoError(t, traces.Close(ctx))
	}
}

// describe returns the names of spans and how often they occur.
func describe(spans map[string]otlp.Span) map[string]int {
	m := map[string]int{}
	for _, s := range spans {
		name := s.Name
		if strings.HasPrefix(name, "target ") {
			name = "target"
		}
		m[name]++
	}
	return m
}

// A run of two steps with retries gives one trace, whose IDs are those of the control database.
func TestTraceOfARun(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		f.exec(t, f.Targets[0], "CREATE TABLE dbo.tries (n INT NOT NULL); INSERT INTO dbo.tries (n) VALUES (0);")
		f.AddJob(t, "traced <job>", []string{`IF OBJECT_ID(N'dbo.tries') IS NOT NULL
BEGIN
    UPDATE dbo.tries SET n = n + 1;
    IF (SELECT n FROM dbo.tries) < 3 THROW 51234, N'a secret text', 1;
END;`, "SELECT 1;"}, retries(5, 1))
		receiver := otlp.NewReceiver(t)
		stop := f.traced(t, receiver, agent.Config{})
		parent := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		ctx := caller.With(t.Context(), caller.Caller{Door: caller.DoorCLI, CorrelationID: uuid.New(), TraceParent: parent})
		id, err := executions.On(f.Store).StartJob(ctx, "traced <job>", uuid.Nil)
		require.NoError(t, err)
		f.ended(t, id, 30*time.Second)
		wait(t, receiver, id)
		stop()

		spans := receiver.Spans()
		require.Equal(t, map[string]int{
			"run traced <job>": 1, "step step 1": 1, "step step 2": 1, "resolve targets": 2, "target": 4,
			"attempt 1": 4, "attempt 2": 1, "attempt 3": 1, "connect": 6,
		}, describe(spans))
		text := strings.ReplaceAll(id.String(), "-", "")
		failures := 0
		for _, s := range spans {
			require.Equal(t, text, s.Trace, s.Name)
			require.False(t, s.End.Before(s.Start), s.Name)
			if s.Parent != "" {
				require.Contains(t, spans, s.Parent, "the parent of %s", s.Name)
			}
			if s.Failed && strings.HasPrefix(s.Name, "attempt") {
				failures++
				require.Equal(t, "51234", s.Attributes["error.type"])
				require.Equal(t, "51234", s.Attributes["db.response.status_code"])
			}
			require.NotContains(t, fmt.Sprint(s), "a secret text")
			require.NotContains(t, fmt.Sprint(s), "UPDATE")
			require.Equal(t, "jobagent", s.Resource["service.name"])
		}
		require.Equal(t, 2, failures)
		root := spans[tracing.RunSpan(id).String()]
		require.Empty(t, root.Parent)
		require.Equal(t, []string{"4bf92f3577b34da6a3ce929d0e0e4736:00f067aa0ba902b7"}, root.Links)

		// The control database computes the same IDs.
		rows, err := f.DB(t, f.Control).QueryContext(t.Context(),
			"SELECT trace_id, span_id, COALESCE(parent_span_id, N'') FROM jobs.job_execution_traces WHERE job_execution_id = '"+id.String()+"';")
		require.NoError(t, err)
		defer rows.Close()
		inDatabase := map[string]string{}
		for rows.Next() {
			var trace, span, parent string
			require.NoError(t, rows.Scan(&trace, &span, &parent))
			require.Equal(t, text, trace)
			inDatabase[span] = parent
		}
		require.NoError(t, rows.Err())
		exported := map[string]string{}
		for _, s := range spans {
			if s.Name != "connect" {
				exported[s.ID] = s.Parent
			}
		}
		require.Equal(t, inDatabase, exported)
		var messages int
		f.query(t, f.Control, fmt.Sprintf(
			"SELECT COUNT(*) FROM jobs.job_execution_messages WHERE job_execution_id = '%s' AND span_id IN (N'%s');",
			id, strings.Join(slices.Sorted(maps.Keys(exported)), "', N'")), &messages)
		require.NotZero(t, messages)
	})
}

// wait waits until the span of a run was received.
func wait(t *testing.T, receiver *otlp.Receiver, run uuid.UUID) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, ok := receiver.Spans()[tracing.RunSpan(run).String()]
		return ok
	}, 10*time.Second, 20*time.Millisecond)
}

// An agent that is gone has exported no span of its attempt. The others record all the rest, so
// that no span lacks its parent; a rerun is linked to its origin.
func TestTraceAfterAnAgentIsLost(t *testing.T) {
	testenv.Long(t)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.exec(t, f.Targets[0], "CREATE TABLE dbo.tries (n INT NOT NULL);")
		f.AddJob(t, "j", []string{`INSERT INTO dbo.tries (n) VALUES (1);
IF (SELECT COUNT(*) FROM dbo.tries) = 1 WAITFOR DELAY '00:01:00';
THROW 50001, N'x', 1;`}, retries(1, 1))
		// The lost agent exports nothing, as one that is killed.
		lost := f.startAgent(t, agent.Config{MaxConcurrentTargets: 1, Grace: -1})
		id := f.Start(t, "j")
		f.until(t, id, 20*time.Second, func([]executions.Execution) bool {
			// A task exists before an agent has claimed it, so only the script shows that the task
			// runs.
			var begun int
			f.query(t, f.Targets[0], "SELECT COUNT(*) FROM dbo.tries", &begun)
			return begun == 1
		})
		receiver := otlp.NewReceiver(t)
		lost()
		stop := f.traced(t, receiver, agent.Config{})
		f.ended(t, id, 30*time.Second)
		wait(t, receiver, id)
		again, err := executions.On(f.Store).Rerun(t.Context(), executions.RerunRequest{Origin: id})
		require.NoError(t, err)
		f.ended(t, again, 30*time.Second)
		wait(t, receiver, again)
		stop()

		spans := receiver.Spans()
		first, rerun := map[string]otlp.Span{}, map[string]otlp.Span{}
		for spanID, s := range spans {
			if s.Parent != "" {
				require.Contains(t, spans, s.Parent, s.Name)
			}
			if s.Trace == tracing.TraceID(id).String() {
				first[spanID] = s
			} else {
				rerun[spanID] = s
			}
		}
		// The resolution and attempt 1 were made by the agent that is lost.
		require.Equal(t, map[string]int{"run j": 1, "step step 1": 1, "target": 1, "attempt 2": 1, "connect": 1}, describe(first))
		require.Equal(t, []string{tracing.TraceID(id).String() + ":" + tracing.RunSpan(id).String()}, rerun[tracing.RunSpan(again).String()].Links)
	})
}

// A receiver that is away, slow or refuses everything does not disturb runs, and is reported.
func TestTraceWithoutAReceiver(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		receiver := otlp.NewReceiver(t)
		hold := make(chan struct{})
		receiver.Answer = func(r *http.Request) int {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
			return http.StatusBadRequest
		}
		traces, err := export.New(t.Context(), export.Config{Endpoint: receiver.URL}, zaptest.NewLogger(t))
		require.NoError(t, err)
		tools := agents.Tools(t, f.Env, f.Store)
		tools.Traces = traces
		hosting, err := agent.New(agent.Config{}, f.Store, tools, nil, zaptest.NewLogger(t))
		require.NoError(t, err)
		stop := agents.Run(t, hosting)
		for range 3 {
			f.ended(t, f.Start(t, "j"), 10*time.Second)
		}
		require.Eventually(t, func() bool { _, n := receiver.Received(); return n > 0 }, 5*time.Second, 20*time.Millisecond)
		stop()
		close(hold)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		require.NoError(t, traces.Close(ctx))
		require.Zero(t, traces.Counts().Exported)
		require.NotZero(t, traces.Counts().Failed)
	})
}

// The endpoint of an action gets the span of its request as the parent, with the trace of the run.
func TestTraceOfAnAction(t *testing.T) {
	t.Parallel()
	parents := make(chan string, 10)
	answers := 0
	f := newActionFixture(t, 0, func(w http.ResponseWriter, r *http.Request) {
		parents <- r.Header.Get("Traceparent")
		if answers++; answers == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	f.addAction(t, "hook", "", `{"method": "POST", "url": "http://api.example.com/x?note=hidden", "allow_http": true, "body": "hidden"}`, retries(2, 1))
	receiver := otlp.NewReceiver(t)
	traces, err := export.New(t.Context(), export.Config{Endpoint: receiver.URL}, zaptest.NewLogger(t))
	require.NoError(t, err)
	tools := agents.Tools(t, f.Env, f.Store)
	tools.Actions, tools.Traces = f.actions(t), traces
	hosting, err := agent.New(agent.Config{}, f.Store, tools, nil, zaptest.NewLogger(t))
	require.NoError(t, err)
	stop := agents.Run(t, hosting)
	id := f.Start(t, "hook")
	f.ended(t, id, 20*time.Second)
	wait(t, receiver, id)
	stop()
	require.NoError(t, traces.Close(t.Context()))

	spans := receiver.Spans()
	require.Equal(t, map[string]int{
		"run hook": 1, "step JobStep": 1, "resolve targets": 1, "target": 1, "attempt 1": 1, "attempt 2": 1, "POST": 2,
	}, describe(spans))
	for _, status := range []string{"503", "200"} {
		parent := strings.Split(<-parents, "-")
		require.Len(t, parent, 4)
		require.Equal(t, tracing.TraceID(id).String(), parent[1])
		request := spans[parent[2]]
		require.Equal(t, "POST", request.Name)
		require.Equal(t, "SPAN_KIND_CLIENT", request.Kind)
		require.Equal(t, status, request.Attributes["http.response.status_code"])
		require.Equal(t, "api.example.com", request.Attributes["server.address"])
		require.Equal(t, status == "503", request.Failed)
		require.Contains(t, spans, request.Parent)
	}
	require.NotContains(t, fmt.Sprint(spans), "hidden")
}
