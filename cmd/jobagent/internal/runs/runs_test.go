package runs

import (
	"context"
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

// RunProgress implements reader.
func (f *fakeReader) RunProgress(context.Context, uuid.UUID) (controldb.RunProgress, error) {
	f.progressRead++
	if time.Now().Before(f.end) {
		return controldb.RunProgress{
			JobName: "j", Active: true, Lifecycle: jobs.InProgress, Targets: 5, ActiveTargets: 3, FailedTargets: 1,
		}, nil
	}
	return controldb.RunProgress{JobName: "j", Lifecycle: jobs.Failed, Targets: 5, FailedTargets: 1}, nil
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
		rows, err := follow(t.Context(), &show, f, id)
		require.NoError(t, err)
		require.Equal(t, []controldb.Execution{{ID: id}}, rows)
		require.Equal(t, 1, f.allRead)
		require.Equal(t, int(time.Minute/pollInterval)+1, f.progressRead)
		require.Contains(t, show.String(), "j  InProgress: 2 of 5 targets done, 1 failed")
		require.True(t, strings.HasSuffix(show.String(), "\r\x1b[K"), "the last line is cleared")
	})
}

func TestFollowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := follow(ctx, nil, &fakeReader{end: time.Now().Add(time.Hour)}, uuid.New())
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
