package targets

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/pagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostile has a zero character, too.
const hostile = pagetest.Hostile + "\x00"

var now = pagetest.Now

// render renders a template.
func render(t *testing.T, name string, data any) string {
	t.Helper()
	return pagetest.Render(t, files, name, data)
}

// aTarget is a page whose texts are hostile.
func aTarget() *targetPage {
	run := uuid.New()
	number, line, state := int32(2627), int32(2), int32(1)
	first := executions.Attempt{
		ID: 7, Number: 1, Start: now.Add(-time.Minute), End: now.Add(-50 * time.Second), Outcome: "Failed", Message: "Msg 2627, Level 14, State 1, Line 2: " + hostile,
		ErrorNumber: &number, ErrorLine: &line, ErrorState: &state, Host: hostile,
	}
	second := first
	second.ID, second.Number, second.Host, second.Start, second.End = 8, 2, "", now.Add(-20*time.Second), now
	slow := int64(1000)
	second.ElapsedMS = &slow
	d := &targetPage{
		head: head{
			Run: executions.Run{ID: run, JobName: hostile, JobVersion: 3, Lifecycle: jobs.Failed, Now: now},
		},
		Target: executions.RunTarget{
			ID: run, StepID: 1, StepName: hostile, TargetID: uuid.New(), TargetType: "SqlDatabase", Server: hostile, Database: hostile, Lifecycle: jobs.Failed,
			CreateTime: now.Add(-2 * time.Minute), StartTime: now.Add(-time.Minute), EndTime: now, Attempts: 2, LastMessage: hostile, ErrorNumber: &number, Pool: hostile,
		},
		Step:       catalog.JobStep{StepName: hostile, CommandType: "TSql", Command: "SELECT 1\n" + hostile + "\n$(secret.x)", Credential: hostile, TargetGroup: hostile},
		Parameters: `{"a": "` + hostile + `"}`,
		Peers:      &executions.StepPeers{Total: 100, Failed: 1, Alike: 1},
		Results: []executions.TargetResult{
			{Run: run, Lifecycle: jobs.Failed, JobVersion: 3}, {Run: uuid.New(), Lifecycle: jobs.Failed, JobVersion: 2}, {Run: uuid.New(), Lifecycle: jobs.Succeeded},
		},
		Count:    executions.MessageCount{Total: 300, Important: 1},
		Messages: []executions.AttemptMessage{{Ordinal: 1, Message: targets.Message{Kind: targets.KindError, Number: 2627, Line: 2, Procedure: hostile, Text: hostile}}},
	}
	d.Steps = []executions.RunTarget{d.Target, d.Target}
	d.Attempts = []attemptRow{{Attempt: first, Now: now}, {Attempt: second, Now: now, Previous: &first, Shown: true}}
	d.Shown = &d.Attempts[1]
	return d
}

// TestTarget checks what the page says about a failure.
func TestTarget(t *testing.T) {
	d := aTarget()
	text := render(t, "target.html", d)
	for _, want := range []string{
		"Only this target fails in this way, and not for the first time. Look at the target.", "it last succeeded 2 runs ago", "used version 2 of the job",
		"the same message", "an agent whose record is gone (term 0)", "later</span>", "Error 2627, state 1, line 2", "Go to line 2 of the script",
		"<bdi>$(secret.x)</bdi>", "the attempt before failed with error 2627", d.TraceID(), d.SpanID(), "U+202E", "U+0000",
	} {
		require.True(t, strings.Contains(text, want), "%q is not in the page", want)
	}
	require.NotContains(t, d.ErrorText(), "Msg 2627", "the number is shown apart")

	d.Target.OutcomeUnknown = true
	require.Contains(t, render(t, "target-verdict", d), "It is unknown whether it ran.")
	d.Attempts[1].Procedure = "p"
	require.Zero(t, d.FailingLine(), "the line is that of a procedure")
	d.Attempts[1].Procedure, *d.Attempts[1].ErrorLine = "", 99
	require.Zero(t, d.FailingLine(), "the script has no such line")

	d.Step.CommandType = "Http"
	d.Important = []executions.AttemptMessage{
		{Message: targets.Message{Kind: targets.KindResponse, Number: 500, Text: "HTTP/1.1 500 Oops\nContent-Type: text/html\nX-" + hostile + ": " + hostile}},
		{Message: targets.Message{Kind: targets.KindBody, Text: hostile}},
	}
	text = render(t, "target-messages", d)
	require.Contains(t, text, "HTTP/1.1 500 Oops")
	require.Contains(t, text, "text/html")
}

// TestJudgement checks when the other targets, and earlier runs, point at a cause.
func TestJudgement(t *testing.T) {
	d := aTarget()
	d.Peers = &executions.StepPeers{Total: 100, Failed: 80, Alike: 80, Active: 20}
	j := d.Judgement()
	require.Contains(t, j.Verdict, "Look at the script")
	require.Contains(t, j.Facts[0], "Of 80 ended targets of this step, 80 failed, 80 of them with error 2627.")
	d.Peers = &executions.StepPeers{Total: 2, Failed: 1, Alike: 1}
	require.Empty(t, d.Judgement().Verdict, "too few targets")
	d.Results = d.Results[:1]
	require.Contains(t, strings.Join(d.Judgement().Facts, " "), "No earlier run")
	d.Peers = nil
	require.Zero(t, d.Judgement())
}

// TestBlocks: each block has one element whose id is its name.
func TestBlocks(t *testing.T) {
	d := aTarget()
	tree := &treePage{head: d.head, Steps: []treeStep{{JobStep: d.Step, Total: 7, Groups: []treeGroup{{State: jobs.Failed, Total: 7, Unknown: 2, First: []executions.RunTarget{d.Target}}},
		Waits: []treeWait{{Title: "Waits", Total: 3, Waits: []executions.Wait{{Server: hostile, Text: hostile}}}}}}}
	line := &timelinePage{
		head: d.head, Steps: []executions.RunStep{{StepID: 1, Name: hostile, ID: 1, Lifecycle: jobs.Failed, CreateTime: now.Add(-time.Minute)}},
		Slowest: []executions.RunTarget{d.Target}, Waits: []executions.RunTarget{d.Target}, Summary: executions.DurationSummary{Targets: 5, P50MS: 3, P99MS: 70000},
		Buckets: []executions.DurationBucket{{Index: 3, Total: 4}, {Index: 44, Total: 1, Failed: 1}}, scale: scale{now.Add(-time.Minute), time.Minute},
		attempts: map[attemptKey][]executions.Attempt{{1, d.Target.TargetID}: {d.Attempts[0].Attempt, d.Attempts[1].Attempt}},
	}
	for name, data := range map[string]any{
		"target-verdict": d, "target-attempts": d, "target-messages": d, "tree-head": tree, "tree-steps": tree,
		"timeline-summary": line, "timeline-chart": line, "timeline-histogram": line, "timeline-waits": line,
	} {
		text := strings.TrimSpace(render(t, name, data))
		require.Truef(t, strings.HasPrefix(text, `<section id="`+name+`"`), "%s: %.80s", name, text)
		require.Equal(t, 1, strings.Count(text, `id="`+name+`"`))
		require.Truef(t, strings.HasSuffix(text, "</section>"), name)
		require.Equal(t, strings.Count(text, "<section"), strings.Count(text, "</section>"))
	}
	render(t, "tree.html", tree)
	render(t, "timeline.html", line)
	render(t, "state.html", &statePage{head: d.head, Targets: []executions.RunTarget{d.Target}, Next: "?x"})
	render(t, "compare.html", &comparePage{head: d.head, Other: &d.head, Choices: []executions.Run{d.Run}, Shown: executions.NewlyFailing,
		Steps: []executions.ChangedStep{{StepName: hostile, Change: "Changed"}}, Targets: []executions.ComparedTarget{{StepName: hostile, Server: hostile, Message: hostile}}})
}

// TestTicks: an axis has few marks, in units that people use, whatever its length.
func TestTicks(t *testing.T) {
	labels := func(d time.Duration) (list []string) {
		for _, k := range (scale{now, d}).ticks() {
			list = append(list, strings.ReplaceAll(k.label, "\u00a0", " "))
		}
		return list
	}
	require.Equal(t, []string{"0 s", "1 s", "2 s", "3 s", "4 s"}, labels(4*time.Second))
	require.Equal(t, []string{"0 s", "15 min", "30 min", "45 min", "1 h", "1 h 15 min", "1 h 30 min"}, labels(100*time.Minute))
	require.Equal(t, []string{"0"}, labels(0))
	for d := time.Microsecond; d < 5000*time.Hour; d *= 3 {
		require.LessOrEqual(t, len(labels(d)), 20, d)
	}
	s := scale{now, time.Minute}
	require.Zero(t, s.at(now.Add(-time.Hour)), "a clock that differs")
	require.InDelta(t, 100, s.at(now.Add(time.Hour)), 0)
}

// TestGraph: steps stand right of those that come before them, and a cycle ends.
func TestGraph(t *testing.T) {
	text := string(drawGraph([]graphNode{
		{Label: "1. " + hostile, Title: hostile, Class: "ok", Link: "#step-1"}, {Label: "2. b", Class: "bad", After: []int{0}},
		{Label: "3. c", Class: "wait", After: []int{0, 1}, Note: "Failed"}, {Label: "4. d", Class: "wait"},
	}))
	require.NotContains(t, text, "<img")
	require.NotContains(t, text, "\u202e")
	require.Equal(t, 3, strings.Count(text, `class="edge`))
	require.Equal(t, 2, strings.Count(text, "edge-failed"))
	require.Contains(t, text, `x="216"`)
	require.Contains(t, text, `x="432"`)
	drawGraph([]graphNode{{After: []int{1}}, {After: []int{0}}})
}

// TestTopics: the ids of topics are checked.
func TestTopics(t *testing.T) {
	run, target := uuid.NewString(), uuid.NewString()
	for _, id := range []string{"", run, run + ".x." + target, run + ".1.x", "x.1." + target} {
		_, err := openTarget(id)
		require.Error(t, err, id)
	}
	_, err := openTarget(topicID(run, "1", target))
	require.NoError(t, err)
	_, err = openTree("x")
	require.Error(t, err)
	for _, id := range []string{run, "x.0.50"} {
		_, err = openTimeline(id)
		require.Error(t, err, id)
	}
	_, err = openTimeline(run + ".0.50")
	require.NoError(t, err)
}
