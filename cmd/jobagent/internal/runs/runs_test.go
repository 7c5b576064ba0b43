package runs

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeReader is a reader of one run, which ends at the instant end.
type fakeReader struct {
	end                   time.Time
	progressRead, allRead int // number of calls
}

// RunWatch implements reader.
func (f *fakeReader) RunWatch(context.Context, uuid.UUID) (controldb.RunWatch, error) {
	f.progressRead++
	w := controldb.RunWatch{RunProgress: controldb.RunProgress{JobName: "j", Lifecycle: jobs.Failed, Targets: 5, FailedTargets: 1}}
	if time.Now().Before(f.end) {
		w.Active, w.Lifecycle, w.ActiveTargets = true, jobs.InProgress, 3
		w.Steps = []controldb.WatchedStep{{StepID: 2, Name: "load", States: []controldb.StepState{
			{Lifecycle: jobs.InProgress, Total: 1}, {Lifecycle: jobs.WaitingForRetry, Total: 2},
		}}}
	}
	return w, nil
}

// Executions implements reader.
func (f *fakeReader) Executions(_ context.Context, filter controldb.ExecutionFilter) ([]controldb.Execution, error) {
	f.allRead++
	return []controldb.Execution{{ID: filter.ID}}, nil
}

// The rows of the targets are read once, however long the run takes. To read thousands of rows at
// each poll would burden the control database.
func TestFollowReadsTargetsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := uuid.New()
		f := &fakeReader{end: time.Now().Add(time.Minute)}
		var show strings.Builder
		rows, err := follow(t.Context(), &progress{w: &show, terminal: true}, f, id)
		require.NoError(t, err)
		require.Equal(t, []controldb.Execution{{ID: id}}, rows)
		require.Equal(t, 1, f.allRead)
		require.Equal(t, int(time.Minute/pollInterval)+1, f.progressRead)
		require.Contains(t, show.String(), "j  InProgress: 2 of 5 targets done, 1 failed, 1 running, 2 waiting; step 2 load")
		require.True(t, strings.HasSuffix(show.String(), "\r\x1b[K"), "the last line is cleared")
	})
}

// A pipe gets plain lines: when something has changed, and not more often than every five seconds.
func TestFollowInAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var show strings.Builder
		f := &fakeReader{end: time.Now().Add(time.Minute)}
		_, err := follow(t.Context(), &progress{w: &show, shownAt: time.Now()}, f, uuid.New())
		require.NoError(t, err)
		require.Equal(t, "j  InProgress: 2 of 5 targets done, 1 failed, 1 running, 2 waiting; step 2 load\n", show.String())
	})
}

func TestFollowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := follow(ctx, &progress{w: io.Discard}, &fakeReader{end: time.Now().Add(time.Hour)}, uuid.New())
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// What an action brought back is printed with its lines, and a long body is cut.
func TestPrintTreeOfActions(t *testing.T) {
	step := 1
	message := func(kind targets.MessageKind, text string) controldb.ExecutionMessage {
		return controldb.ExecutionMessage{
			StepID: step, Server: "api.example.com", Attempt: 2, Message: targets.Message{Kind: kind, Text: text},
		}
	}
	var b strings.Builder
	require.NoError(t, PrintTree(&b, []controldb.Execution{
		{JobName: "j", JobVersion: 1, Lifecycle: jobs.Succeeded},
		{StepID: &step, TargetType: "TargetGroup", Lifecycle: jobs.Succeeded},
		{StepID: &step, TargetType: "Endpoint", Server: "api.example.com", Lifecycle: jobs.Succeeded, Attempts: 2},
	}, []controldb.ExecutionMessage{
		message(targets.KindResponse, "200 OK"), message(targets.KindBody, "{\r\n  \"n\": 1\r\n}\n"),
		message(targets.KindErrorOutput, strings.Repeat("line\n", bodyLines+3)),
	}))
	text := b.String()
	for _, want := range []string{
		"├─ step 1 on its endpoint  Succeeded\n", "│  ├─ api.example.com  Succeeded after 2 attempts\n",
		"│  │    [2] 200 OK\n", "│  │    [2] body: {\n", "│  │    [2] body:   \"n\": 1\n",
		"│  │    [2] stderr: line\n", "│  │    [2] stderr: … and 3 more lines (-o json)\n",
	} {
		require.Contains(t, text, want)
	}
}
