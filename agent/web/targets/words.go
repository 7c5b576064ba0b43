package targets

import (
	"fmt"
	"time"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// Judgement says, after a failure, whether the other targets and the earlier runs point at this
// target or at the script.
type Judgement struct {
	// Verdict is empty if neither is more likely.
	Verdict string
	Facts   []string
}

// Judgement compares the failure with the other targets and with earlier runs.
func (d *targetPage) Judgement() Judgement {
	var j Judgement
	p := d.Peers
	if p == nil {
		return j
	}
	before, bad, lastGood := d.past()
	switch ended := p.Total - p.Active; {
	case p.Total == 1:
		j.Facts = append(j.Facts, "The step has no other target.")
	case p.Failed == 1:
		j.Facts = append(j.Facts, fmt.Sprintf("It is the only one of %d ended targets of this step that failed.", ended))
	default:
		j.Facts = append(j.Facts, fmt.Sprintf("Of %d ended targets of this step, %d failed, %s.", ended, p.Failed, alike(p.Alike, d.Target.ErrorNumber)))
	}
	switch {
	case before == 0:
		j.Facts = append(j.Facts, "No earlier run that is kept had this target at this step.")
	case bad == before:
		j.Facts = append(j.Facts, "The target failed in "+page.Plural(before, "the earlier run that is kept.", fmt.Sprintf("all of the %d earlier runs that are kept.", before)))
	case bad > 0 && lastGood > 1:
		j.Facts = append(j.Facts, fmt.Sprintf("The target failed in the %s before, too; it last succeeded %d runs ago.", page.Plural(lastGood-1, "run", fmt.Sprintf("%d runs", lastGood-1)), lastGood))
	case lastGood == 1:
		j.Facts = append(j.Facts, "The target succeeded in the run before.")
	}
	if len(d.Results) > 1 && d.Results[1].Lifecycle != "" && d.Results[1].JobVersion != d.Run.JobVersion {
		j.Facts = append(j.Facts, fmt.Sprintf("The run before used version %d of the job, this one version %d.", d.Results[1].JobVersion, d.Run.JobVersion))
	}
	switch {
	case p.Total >= 4 && p.Alike*2 > p.Total:
		j.Verdict = "Most targets fail in the same way. Look at the script, or at what all targets share."
	case p.Total >= 4 && p.Alike == 1 && bad > 0:
		j.Verdict = "Only this target fails in this way, and not for the first time. Look at the target."
	case p.Total >= 4 && p.Alike == 1:
		j.Verdict = "Only this target fails in this way. Look at the target."
	}
	return j
}

// alike counts the failures with the same error.
func alike(n int, number *int32) string {
	what := "without an error number"
	if number != nil {
		what = fmt.Sprintf("with error %d", *number)
	}
	if n == 1 {
		return "and only this one " + what
	}
	return fmt.Sprintf("%d of them %s", n, what)
}

// past counts the earlier runs that had the target, those in which it failed, and how many such
// runs ago it last succeeded (0: never).
func (d *targetPage) past() (before, bad, lastGood int) {
	for _, r := range d.Results {
		if r.Run == d.Run.ID || r.Lifecycle == "" {
			continue
		}
		before++
		switch {
		case r.Lifecycle.IsFailure():
			bad++
		case r.Lifecycle == jobs.Succeeded && lastGood == 0:
			lastGood = before
		}
	}
	return before, bad, lastGood
}

// Strip returns the results of the target, the oldest first.
func (d *targetPage) Strip() []executions.TargetResult {
	list := make([]executions.TargetResult, 0, len(d.Results))
	for i := len(d.Results) - 1; i >= 0; i-- {
		if d.Results[i].Lifecycle != "" {
			list = append(list, d.Results[i])
		}
	}
	return list
}

// HasHistory reports whether another run had the target.
func (d *targetPage) HasHistory() bool { return len(d.Strip()) > 1 }

// Unknown explains an unknown outcome; empty if it is known.
func (d *targetPage) Unknown() string {
	if !d.Target.OutcomeUnknown {
		return ""
	}
	what := "The script may have run on this target, wholly or in part, or not at all: the agent or the connection was lost before the result arrived."
	if d.IsAction() {
		what = "The request may have been carried out, or not: there was no answer, and no report ended the wait."
	}
	if d.Target.Active {
		return what + " It is settled by the next attempt whose outcome is known."
	}
	return what + " Check the target before you repeat it: a rerun of the state Unknown includes it, and a rerun of the state Failed does not."
}

// waitTitles are the headings of what a row waits for, by the keywords of sp_explain_execution.
var waitTitles = map[string]string{
	"Agent": "Waiting for an agent", "Advance": "Waiting for the next pass of an agent", "Resolution": "Resolving the target group",
	"Targets": "Its targets are running", "Step": "Waiting for other steps", "Outcome": "Running", "Stop": "Being stopped", "Retry": "Waiting for the next attempt",
	"Limit": "Waiting because a limit is used up", "Worker": "Waiting for a free worker", "Turn": "Waiting for its turn", "Callback": "Waiting for a report", "Wave": "The roll-out",
	"Pause": "Waiting because the database is paused", "Window": "Waiting for the window of the database",
}

// waitTitle returns the heading of a wait.
func waitTitle(keyword string) string {
	if t, ok := waitTitles[keyword]; ok {
		return t
	}
	return "Waiting: " + keyword
}

// WaitTitle is the heading of what the target waits for.
func (d *targetPage) WaitTitle() string { return waitTitle(d.Wait.For) }

// Policy says how failures of the step are retried.
func (d *targetPage) Policy() string {
	s := d.Step
	if s.RetryAttempts == 0 {
		return "The step has no retries."
	}
	times := func(seconds int) string { return page.LengthText(time.Duration(seconds) * time.Second) }
	return fmt.Sprintf("The step has up to %s: the first wait is %s, each one %g times the one before, at most %s. All attempts together may take %s.",
		page.Counted(s.RetryAttempts, "retry", "retries"), times(s.InitialRetryInterval), s.RetryIntervalMultiplier, times(s.MaximumRetryInterval), times(s.Timeout))
}
