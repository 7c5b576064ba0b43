package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeReader is a reader of one run, which ends at the instant end.
type fakeReader struct {
	end time.Time
	// away are the errors of the first reads.
	away []error
	// noAgentUntil is when an agent starts.
	noAgentUntil time.Time
	// Numbers of calls.
	progressRead, failuresRead, allRead int
}

// RunWatch implements reader.
func (f *fakeReader) RunWatch(context.Context, uuid.UUID) (controldb.RunWatch, error) {
	f.progressRead++
	if len(f.away) > 0 {
		err := f.away[0]
		f.away = f.away[1:]
		return controldb.RunWatch{}, err
	}
	w := controldb.RunWatch{RunProgress: controldb.RunProgress{JobName: "j", Lifecycle: jobs.Failed, Targets: 5, FailedTargets: 1}}
	if time.Now().Before(f.end) {
		if !time.Now().Before(f.noAgentUntil) {
			w.LiveAgents = 1
		}
		w.Active, w.Lifecycle, w.ActiveTargets = true, jobs.InProgress, 3
		w.Steps = []controldb.WatchedStep{{StepID: 2, Name: "load", States: []controldb.StepState{
			{Lifecycle: jobs.InProgress, Total: 1}, {Lifecycle: jobs.WaitingForRetry, Total: 2},
		}}}
	}
	return w, nil
}

// RunFailures implements reader.
func (f *fakeReader) RunFailures(context.Context, uuid.UUID, int) ([]controldb.RunFailure, error) {
	f.failuresRead++
	return []controldb.RunFailure{{StepID: 2, Server: "s", Database: "d", Message: "it broke"}}, nil
}

// Executions implements reader.
func (f *fakeReader) Executions(_ context.Context, filter controldb.ExecutionFilter) ([]controldb.Execution, error) {
	f.allRead++
	return []controldb.Execution{{ID: filter.ID}}, nil
}

// progressLine is the plain line of a fakeReader's run.
const progressLine = "j  InProgress: 2 of 5 targets done, 1 failed, 1 running, 0 waiting, 2 retrying; step 2 load\n"

// The rows of the targets are read once, however long the run takes, and the failures when their
// number changes. To read thousands of rows at each poll would burden the control database. A pipe
// gets plain lines: when something has changed, and not more often than every five seconds.
func TestFollowReadsTargetsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := uuid.New()
		r := &fakeReader{end: time.Now().Add(time.Minute)}
		var show strings.Builder
		rows, err := (&follower{store: r, screen: &plain{w: &show, shownAt: time.Now()}}).follow(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, []controldb.Execution{{ID: id}}, rows)
		require.Equal(t, 1, r.allRead)
		require.Equal(t, 1, r.failuresRead)
		require.Equal(t, int(time.Minute/pollInterval)+1, r.progressRead)
		require.Equal(t, progressLine, show.String())
	})
}

func TestFollowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := &fakeReader{end: time.Now().Add(time.Hour)}
		_, err := (&follower{store: r, screen: &plain{w: io.Discard}}).follow(ctx, uuid.New())
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// Within two seconds the command says that no agent is alive, and when that has changed.
func TestFollowWithoutAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var show strings.Builder
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		now := time.Now()
		r := &fakeReader{end: now.Add(time.Minute), noAgentUntil: now.Add(10 * time.Second)}
		_, err := (&follower{store: r, screen: &plain{w: &show, quiet: true}}).follow(ctx, uuid.New())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		const note = "no agent is alive: nothing moves until one starts: jobagent run\n"
		require.Equal(t, note, show.String())
		show.Reset()
		_, err = (&follower{store: r, screen: &plain{w: &show, quiet: true}}).follow(t.Context(), uuid.New())
		require.NoError(t, err)
		require.Equal(t, note+"no longer: "+note, show.String())
	})
}

// An outage of the control database does not end the command, which says since when it lasts.
// Errors of the login end it, and so does all else that does not pass.
func TestFollowThroughAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var show strings.Builder
		r := &fakeReader{end: time.Now().Add(time.Minute), away: []error{
			fmt.Errorf("watch: %w", controldb.ErrUnreachable), context.DeadlineExceeded, fmt.Errorf("second\nline: %w", controldb.ErrUnreachable),
		}}
		began := time.Now().Format("15:04:05")
		_, err := (&follower{store: r, screen: &plain{w: &show, shownAt: time.Now()}}).follow(t.Context(), uuid.New())
		require.NoError(t, err)
		note := "the control database does not answer since " + began + ", waiting for it: watch: the control database's server cannot be reached\n"
		require.Equal(t, note+"no longer: "+note+progressLine, show.String())
	})
	for _, end := range []error{controldb.ErrLoginFailed, controldb.ErrNotInstalled, errors.New("other")} {
		r := &fakeReader{away: []error{end}}
		_, err := (&follower{store: r, screen: &plain{w: io.Discard}}).follow(t.Context(), uuid.New())
		require.ErrorIs(t, err, end)
		require.Zero(t, r.allRead)
	}
	_, err := (&follower{store: &fakeReader{away: []error{controldb.ErrExecutionNotFound}}, screen: &plain{w: io.Discard}}).follow(t.Context(), uuid.New())
	require.Equal(t, exit.CodeNotFound, exit.Code(err))
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
	tree := Tree{Paint: terminal.Painter{Plain: true}, Width: 100} // in a pipe nothing is cut
	require.NoError(t, tree.Print(&b, []controldb.Execution{
		{JobName: "j", JobVersion: 1, Lifecycle: jobs.Succeeded},
		{StepID: &step, TargetType: "TargetGroup", Lifecycle: jobs.Succeeded},
		{StepID: &step, TargetType: "Endpoint", Server: "api.example.com", Lifecycle: jobs.Succeeded, Attempts: 2},
	}, []controldb.ExecutionMessage{
		message(targets.KindResponse, "200 OK"), message(targets.KindBody, "{\r\n  \"n\": 1\r\n}\n"),
		message(targets.KindErrorOutput, strings.Repeat("line\n", bodyLines+3)),
	}))
	text := b.String()
	for _, want := range []string{
		"└─ step 1 on its endpoint  Succeeded\n", "   └─ api.example.com  Succeeded after 2 attempts\n",
		"        [2] 200 OK\n", "        [2] body: {\n", "        [2] body:   \"n\": 1\n",
		"        [2] stderr: line\n", "        [2] stderr: … and 3 more lines (-o json)\n",
	} {
		require.Contains(t, text, want)
	}
}
