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

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/timetable"
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
	progressRead, failuresRead, retriesRead, allRead int
}

// Get implements reader.
func (f *fakeReader) Get(context.Context, uuid.UUID, ...executions.Part) (executions.Run, error) {
	f.progressRead++
	if len(f.away) > 0 {
		err := f.away[0]
		f.away = f.away[1:]
		return executions.Run{}, err
	}
	w := executions.Run{JobName: "j", Lifecycle: jobs.Failed, Steps: []executions.RunStep{{
		StepID: 2, Name: "load", ID: 7, EndTime: f.end, States: []executions.StateCount{{Lifecycle: jobs.Succeeded, Total: 4}, {Lifecycle: jobs.Failed, Total: 1}},
	}}}
	if time.Now().Before(f.end) {
		if !time.Now().Before(f.noAgentUntil) {
			w.LiveAgents = 1
		}
		w.Active, w.Lifecycle = true, jobs.InProgress
		w.Steps = []executions.RunStep{{StepID: 2, Name: "load", ID: 7, States: []executions.StateCount{
			{Lifecycle: jobs.Succeeded, Total: 1}, {Lifecycle: jobs.Failed, Total: 1},
			{Lifecycle: jobs.InProgress, Total: 1}, {Lifecycle: jobs.WaitingForRetry, Total: 2},
		}}}
	}
	return w, nil
}

// Targets implements reader.
func (f *fakeReader) Targets(_ context.Context, _ uuid.UUID, of executions.RunTargetFilter) ([]executions.RunTarget, error) {
	if of.Lifecycles[0] == jobs.Failed {
		f.failuresRead++
		return []executions.RunTarget{{StepID: 2, Server: "s", Database: "d", LastMessage: "it broke"}}, nil
	}
	f.retriesRead++
	return []executions.RunTarget{{StepID: 2, Server: "s", Database: "e", LastMessage: "e is busy"}, {StepID: 2, Server: "s", Database: "f", LastMessage: "f is busy"}}, nil
}

// Rows implements reader.
func (f *fakeReader) Rows(_ context.Context, id uuid.UUID) ([]executions.Execution, error) {
	f.allRead++
	return []executions.Execution{{ID: id}}, nil
}

// progressLine is the plain line of a fakeReader's run.
const progressLine = "j  InProgress: 2 of 5 targets done, 1 failed, 1 running, 0 waiting, 2 retrying after \"e is busy\"; step 2 load\n"

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
		require.Equal(t, []executions.Execution{{ID: id}}, rows)
		require.Equal(t, 1, r.allRead)
		require.Equal(t, 1, r.failuresRead)
		require.Equal(t, 1, r.retriesRead)
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

// hungReader is a control database that hangs: a call does not even end with its context, until
// release is closed.
type hungReader struct {
	fakeReader
	release chan struct{}
}

// Get implements reader.
func (h *hungReader) Get(context.Context, uuid.UUID, ...executions.Part) (executions.Run, error) {
	<-h.release
	return executions.Run{}, dberror.ErrUnreachable
}

// Ctrl-C is obeyed at once, also while the control database hangs.
func TestFollowEndsDuringAHungCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		h := &hungReader{release: make(chan struct{})}
		began := time.Now()
		_, err := (&follower{store: h, screen: &plain{w: io.Discard}}).follow(ctx, uuid.New())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		close(h.release)
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
		r = &fakeReader{end: r.end, noAgentUntil: r.noAgentUntil}
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
			fmt.Errorf("watch: %w", dberror.ErrUnreachable), context.DeadlineExceeded, fmt.Errorf("second\nline: %w", dberror.ErrUnreachable),
		}}
		began := time.Now().Format("15:04:05")
		_, err := (&follower{store: r, screen: &plain{w: &show, shownAt: time.Now()}}).follow(t.Context(), uuid.New())
		require.NoError(t, err)
		note := "the control database does not answer since " + began + ", waiting for it: watch: the control database's server cannot be reached\n"
		require.Equal(t, note+"no longer: "+note+progressLine, show.String())
	})
	for _, end := range []error{dberror.ErrLoginFailed, dberror.ErrNotInstalled, errors.New("other")} {
		r := &fakeReader{away: []error{end}}
		_, err := (&follower{store: r, screen: &plain{w: io.Discard}}).follow(t.Context(), uuid.New())
		require.ErrorIs(t, err, end)
		require.Zero(t, r.allRead)
	}
	_, err := (&follower{store: &fakeReader{away: []error{dberror.ErrExecutionNotFound}}, screen: &plain{w: io.Discard}}).follow(t.Context(), uuid.New())
	require.Equal(t, exit.CodeNotFound, exit.Code(err))
}

// What an action brought back is printed with its lines, and a long body is cut.
func TestPrintTreeOfActions(t *testing.T) {
	step := 1
	message := func(kind targets.MessageKind, text string) executions.ExecutionMessage {
		return executions.ExecutionMessage{
			StepID: step, Server: "api.example.com", Attempt: 2, Message: targets.Message{Kind: kind, Text: text},
		}
	}
	var b strings.Builder
	tree := Tree{Paint: terminal.Painter{Plain: true}, Width: 100} // in a pipe nothing is cut
	require.NoError(t, tree.Print(&b, []executions.Execution{
		{JobName: "j", JobVersion: 1, Lifecycle: jobs.Succeeded},
		{StepID: &step, TargetType: "TargetGroup", Lifecycle: jobs.Succeeded},
		{StepID: &step, TargetType: "Endpoint", Server: "api.example.com", Lifecycle: jobs.Succeeded, Attempts: 2},
	}, []executions.ExecutionMessage{
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

// treeRows is a run with 24 targets in its first step, of which some failed.
func treeRows() []executions.Execution {
	one, two := 1, 2
	rows := []executions.Execution{
		{JobName: "load the new prices of all tenants of the eastern region", JobVersion: 3, Lifecycle: jobs.Failed, LastMessage: "Step 1 ended with 21 of 24 targets succeeded."},
		{StepID: &one, TargetType: "TargetGroup", TargetGroup: "tenants", Lifecycle: jobs.Failed},
	}
	for n := 1; n <= 24; n++ {
		e := executions.Execution{StepID: &one, TargetType: "SqlDatabase", Server: "east.example.com", Database: fmt.Sprintf("Tenant%04d", n), Lifecycle: jobs.Succeeded, Attempts: 1}
		if n%10 == 4 {
			e.Lifecycle, e.Attempts, e.LastMessage = jobs.Failed, 3, "Msg 245, Level 16, State 1, Line 2: Conversion failed when converting the nvarchar value 'n/a' to data type int."
		}
		rows = append(rows, e)
	}
	return append(rows, executions.Execution{StepID: &two, TargetType: "TargetGroup", TargetGroup: "tenants", Lifecycle: jobs.Succeeded})
}

// Long trees are abridged on a terminal: failures stay, the others are counted. Lines fit its width
// and are broken between words. A pipe gets all targets in whole lines.
func TestTree(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Tree{Paint: terminal.Painter{Plain: true}, Width: 60, Targets: 4}.Print(&b, treeRows(), nil))
	require.Equal(t, `load the new prices of all tenants of the eastern region
(version 3)  Failed
  Step 1 ended with 21 of 24 targets succeeded.
├─ step 1 on tenants  Failed
│  ├─ east.example.com/Tenant0001  Succeeded
│  ├─ east.example.com/Tenant0002  Succeeded
│  ├─ east.example.com/Tenant0003  Succeeded
│  ├─ east.example.com/Tenant0004  Failed after 3 attempts
│  │    Msg 245, Level 16, State 1, Line 2: Conversion
│  │    failed when converting the nvarchar value 'n/a' to
│  │    data type int.
│  ├─ east.example.com/Tenant0005  Succeeded
│  ├─ east.example.com/Tenant0014  Failed after 3 attempts
│  │    Msg 245, Level 16, State 1, Line 2: Conversion
│  │    failed when converting the nvarchar value 'n/a' to
│  │    data type int.
│  ├─ east.example.com/Tenant0024  Failed after 3 attempts
│  │    Msg 245, Level 16, State 1, Line 2: Conversion
│  │    failed when converting the nvarchar value 'n/a' to
│  │    data type int.
│  └─ +17 more: 17 Succeeded
└─ step 2 on tenants  Succeeded
`, b.String())
	b.Reset()
	require.NoError(t, Tree{Paint: terminal.Painter{Plain: true}}.Print(&b, treeRows(), nil))
	require.Equal(t, 31, strings.Count(b.String(), "\n"))
	require.Contains(t, b.String(), "│  └─ east.example.com/Tenant0024  Failed after 3 attempts\n│       Msg 245, Level 16, State 1, Line 2: Conversion failed when converting the nvarchar value 'n/a' to data type int.\n")
	b.Reset()
	require.NoError(t, Tree{Targets: 4}.Print(&b, treeRows(), nil))
	require.Contains(t, b.String(), "\x1b[31mFailed\x1b[m")
}

// What a success says beyond its state is shown, such as that nothing was written.
func TestRemark(t *testing.T) {
	const on = "Step 1 succeeded execution on target (server 's', database 'it's'). "
	left := "The script left a transaction open (@@TRANCOUNT 1)."
	rows := treeRows()
	rows[2].LastMessage = on + left
	var b strings.Builder
	require.NoError(t, Tree{Paint: terminal.Painter{Plain: true}}.Print(&b, rows, nil))
	require.Contains(t, b.String(), "Tenant0001  Succeeded\n│  │    "+left+"\n")
}

// What --wait makes of a run that has ended.
func TestVerdict(t *testing.T) {
	step := 1
	rows := func(root jobs.Lifecycle, targets ...jobs.Lifecycle) []executions.Execution {
		list := []executions.Execution{{JobName: "j", Lifecycle: root}, {StepID: &step, TargetType: "TargetGroup", Lifecycle: root}}
		for _, l := range targets {
			list = append(list, executions.Execution{StepID: &step, TargetType: "SqlDatabase", Lifecycle: l})
		}
		return list
	}
	for _, c := range []struct {
		rows         []executions.Execution
		allow        bool
		code         int
		err, warning string
	}{
		{rows: rows(jobs.Succeeded, jobs.Succeeded)},
		{rows: rows(jobs.Failed, jobs.Failed), code: exit.CodeRunFailed, err: "ended as Failed; see jobagent execution errors"},
		{rows: rows(jobs.Canceled), allow: true, code: exit.CodeRunFailed, err: "ended as Canceled"},
		{rows: rows(jobs.Succeeded), code: exit.CodeRunFailed, err: "no target ran: its target groups have no targets"},
		{rows: rows(jobs.SucceededWithSkipped, jobs.Skipped), code: exit.CodeRunFailed, err: "no target ran: 1 target was skipped"},
		{rows: rows(jobs.SucceededWithSkipped, jobs.Skipped, jobs.Skipped), allow: true, warning: "warning: no target ran: 2 targets were skipped"},
		{rows: rows(jobs.SucceededWithSkipped, jobs.Skipped, jobs.Succeeded), warning: "warning: 1 of 2 targets skipped"},
	} {
		var stderr strings.Builder
		w := Wait{AllowSkipped: c.allow}
		err := w.verdict(&output.Printer{Stderr: &stderr}, c.rows)
		require.Equal(t, c.code, exit.Code(err))
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
		}
		require.True(t, strings.HasPrefix(stderr.String(), c.warning), stderr.String())
		require.Equal(t, c.warning == "", stderr.String() == "")
	}
}

// What --wait makes of a backfill that has ended.
func TestBackfillVerdict(t *testing.T) {
	for _, c := range []struct {
		state timetable.BackfillWatch
		allow bool
		idle  int
		code  int
		want  string
	}{
		{state: timetable.BackfillWatch{State: "Completed", Runs: map[jobs.Lifecycle]int{jobs.Succeeded: 3}}},
		{state: timetable.BackfillWatch{State: "Completed", Runs: map[jobs.Lifecycle]int{jobs.Succeeded: 3}}, idle: 2, code: exit.CodeRunFailed, want: "no target ran in 2 of 3 runs of backfill 7"},
		{state: timetable.BackfillWatch{State: "Completed", Runs: map[jobs.Lifecycle]int{jobs.Succeeded: 3}}, idle: 2, allow: true},
		{state: timetable.BackfillWatch{State: "Completed", Skipped: 2, Runs: map[jobs.Lifecycle]int{jobs.Succeeded: 3}}},
		{state: timetable.BackfillWatch{State: "Completed", Runs: map[jobs.Lifecycle]int{jobs.Succeeded: 3, jobs.Failed: 1}}, code: exit.CodeRunFailed, want: "1 of 4 runs of backfill 7 did not succeed"},
		{state: timetable.BackfillWatch{State: "Faulted", Reason: "no more"}, code: exit.CodeRunFailed, want: "backfill 7 ended as Faulted: no more"},
		{state: timetable.BackfillWatch{State: "Completed"}, code: exit.CodeRunFailed, want: "started no run"},
		{state: timetable.BackfillWatch{State: "Completed"}, allow: true},
	} {
		b := &backfill{id: 7}
		b.news.backfill = c.state
		err := b.verdict(&output.Printer{Stderr: io.Discard}, Wait{AllowSkipped: c.allow}, c.idle)
		require.Equal(t, c.code, exit.Code(err))
		if c.want != "" {
			require.ErrorContains(t, err, c.want)
		}
	}
}

// The same error of several databases is one group, however the message quotes their names.
func TestGroupErrorsWithoutNames(t *testing.T) {
	step := 1
	var rows []executions.Execution
	for _, name := range []string{"a", "b", "c"} {
		for _, message := range []string{"no database '" + name + "'", `cannot open "` + name + `"`, "target s/" + name + " with credential [c1]", "[" + name + "] is full"} {
			rows = append(rows, executions.Execution{StepID: &step, TargetType: "SqlDatabase", Server: "s", Database: name, Lifecycle: jobs.Failed, LastMessage: message})
		}
	}
	groups := GroupErrors(rows)
	require.Len(t, groups, 4)
	for _, g := range groups {
		require.Equal(t, 3, g.Count, g.Message)
		require.Equal(t, []string{"s/a", "s/b", "s/c"}, g.Targets)
	}
	alone := executions.Execution{StepID: &step, TargetType: "SqlDatabase", Server: "s", Database: "a", Lifecycle: jobs.Failed, LastMessage: `Cannot open database "a".`}
	require.Equal(t, `Cannot open database "a".`, GroupErrors([]executions.Execution{alone})[0].Message, "one target: its error stays whole")
}

func TestUnrepeatable(t *testing.T) {
	t.Parallel()
	err := Unrepeatable(fmt.Errorf("extend: %w", dberror.ErrUnreachable), "jobagent rollout show 1", "extend it once more")
	require.ErrorContains(t, err, "may have been made: see jobagent rollout show 1 before you repeat the command, which would extend it once more")
	require.Equal(t, exit.CodeConnection, exit.Code(err))
	refused := fmt.Errorf("extend: %w", dberror.ErrJobNotFound)
	require.Equal(t, refused, Unrepeatable(refused, "", ""), "the server has answered: nothing was changed")
}

// If no answer to the start of a run comes, the run may have started: the error names the run, and
// how to go on without a second one.
func TestUnanswered(t *testing.T) {
	var stderr strings.Builder
	a := &connect.App{Printer: output.Printer{Stderr: &stderr}}
	id := uuid.MustParse("00000000-0000-4000-8000-000000000001")
	lost := fmt.Errorf("start job: %w", dberror.ErrUnreachable)
	err := Unanswered(t.Context(), &a.Printer, id, true, lost)
	require.ErrorIs(t, err, dberror.ErrUnreachable)
	require.ErrorContains(t, err, "may have started: see jobagent execution show "+id.String())
	require.ErrorContains(t, err, "--execution-id "+id.String())
	require.Equal(t, exit.CodeConnection, exit.Code(err))
	require.Empty(t, stderr.String())
	err = Unanswered(t.Context(), &a.Printer, id, false, lost)
	require.ErrorContains(t, err, "may have started: see jobagent execution show "+id.String())
	require.NotContains(t, err.Error(), "--execution-id", "the command does not have the flag")

	refused := fmt.Errorf("start job: %w", dberror.ErrJobNotFound)
	require.Equal(t, refused, Unanswered(t.Context(), &a.Printer, id, true, refused), "the server has answered: nothing has started")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, exit.CodeInterrupted, exit.Code(Unanswered(ctx, &a.Printer, id, true, context.Canceled)))
	require.Contains(t, stderr.String(), "jobagent job stop "+id.String())
}
