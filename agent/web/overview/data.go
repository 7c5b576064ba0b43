package overview

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/jobs"
)

// data is what the page shows.
type data struct {
	O        summary.Overview
	Alerts   []alerting.Alert // one more than is shown, if there are more
	Failures *failures
	Strips   *strips
	Agents   []fleet.Agent    // nil for readers, and in live updates
	words    map[int64]string // of due schedules, by id
	// ages is true where times are written as ages by the server: not in live updates, because they
	// would change with each read. The base script writes them there.
	ages bool
}

// Ago shows an instant as an age or a delay.
func (d *data) Ago(t time.Time) template.HTML {
	if d.ages {
		return page.When(d.O.Now, t)
	}
	return page.When(t, t)
}

// Words are a due schedule in words; empty: unknown.
func (d *data) Words(s summary.DueNext) string { return d.words[s.ID] }

// ShownAlerts are the alerts that the page shows.
func (d *data) ShownAlerts() []alerting.Alert { return d.Alerts[:min(len(d.Alerts), maxAlerts)] }

// MoreAlerts reports whether there are more alerts than the page shows.
func (d *data) MoreAlerts() bool { return len(d.Alerts) > maxAlerts }

// MoreRuns is the number of active runs that the page does not show.
func (d *data) MoreRuns() int { return max(d.O.ActiveRuns-len(d.O.Runs), 0) }

// Attention reports whether something waits, has stopped, or was alerted.
func (d *data) Attention() bool {
	return len(d.Alerts) > 0 || len(d.O.Waiting) > 0 || len(d.O.Missing) > 0 || len(d.O.Stopped) > 0 || len(d.O.Backfill) > 0
}

// alarm is something that stops work.
type alarm struct {
	Class string // bad or warn
	Title string
	// Since is zero if it has no beginning.
	Since time.Time
	Text  string
	Href  string // below the base; empty: none
	Link  string
}

// Alarms are what somebody has to look at first.
func (d *data) Alarms() []alarm {
	o := d.O
	var list []alarm
	switch {
	case o.LiveAgents == 0 && o.WorkWaits() && o.JobAgentState.Served():
		a := alarm{Class: "bad", Title: "No agent is alive, and work waits.", Since: o.LastAgentAt,
			Text: "Nothing runs until an agent starts: run \"jobagent run\" on a machine that reaches the control database and the targets."}
		if o.LastAgentAt.IsZero() {
			a.Text = "No agent has ever worked for this control database. " + a.Text
		}
		list = append(list, a)
	case o.LiveAgents == 0 && o.Jobs > 0 && o.JobAgentState.Served():
		list = append(list, alarm{Class: "warn", Title: "No agent is alive.", Since: o.LastAgentAt,
			Text: "Nothing waits now, but nothing that becomes due will run."})
	}
	switch o.JobAgentState {
	case account.AgentDisabled, account.AgentFaulted, account.AgentDeleting, account.AgentDeleted:
		list = append(list, alarm{Class: "bad", Title: fmt.Sprintf("The job agent (account) is %s.", o.JobAgentState),
			Text: strings.TrimSpace(o.JobAgentReason + " No runs start until it is Ready."), Href: "/agents", Link: "Agents"})
	case account.AgentNone, account.AgentCreating, account.AgentReady, account.AgentUpdating:
	}
	if !o.PausedAt.IsZero() {
		list = append(list, alarm{Class: "bad", Title: "The control database is paused: nothing starts.", Since: o.PausedAt,
			Text: strings.TrimSpace(o.PauseReason + " An administrator ends the pause with \"jobagent db resume\".")})
	}
	if !o.AdvanceSkippedSince.IsZero() {
		list = append(list, alarm{Class: "bad", Title: "Executions do not advance although an agent is alive.", Since: o.AdvanceSkippedSince,
			Text: "Another session holds the application lock jobagent.advance. \"jobagent doctor\" names it.", Href: "/agents", Link: "Agents"})
	}
	if o.LiveAgents > 0 && o.OverdueSchedules > 0 {
		list = append(list, alarm{Class: "warn", Title: many(o.OverdueSchedules, "schedule is", "schedules are") + " overdue by more than a minute.",
			Since: o.FirstOverdueAt, Text: "Agents are alive, but do not start these runs.", Href: "/schedules", Link: "Schedules"})
	}
	return list
}

// many writes a number that may have ended at [summary.Many], with a noun.
func many(n int, one, several string) string {
	switch {
	case n == 1:
		return "1 " + one
	case n >= summary.Many:
		return fmt.Sprintf("%d or more %s", n, several)
	}
	return fmt.Sprintf("%d %s", n, several)
}

// Retries is the number of runs of which something has an error and waits for a retry.
func (d *data) Retries() (n int) {
	for _, r := range d.O.Runs {
		if r.RetryMessage != "" {
			n++
		}
	}
	return n
}

// Many reports whether a number may have ended at [summary.Many].
func (d *data) Many(n int) bool { return n >= summary.Many }

// Rate writes the targets that end in a unit of time, with two digits; empty: unknown, or no target
// is left that could end now.
func (d *data) Rate(r summary.ActiveRun) string {
	rate, _ := r.Pace(d.O.Now)
	switch {
	case rate == 0 || r.Running+r.Due == 0:
		return ""
	case rate >= 1:
		return twoDigits(rate) + " per second"
	case rate*60 >= 1:
		return twoDigits(rate*60) + " per minute"
	}
	return twoDigits(rate*3600) + " per hour"
}

// Shown is the lifecycle of a run as the page shows it: a run that waits for its steps is running.
func (d *data) Shown(l jobs.Lifecycle) string {
	if l.Class() == jobs.ClassBusy {
		return "Running"
	}
	return string(l)
}

// ShownText is Shown of a lifecycle as text.
func (d *data) ShownText(l string) string { return d.Shown(jobs.Lifecycle(l)) }

// twoDigits writes a number from 1 on with two significant digits.
func twoDigits(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.1f", x)
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return fmt.Sprintf("%.0f", math.Round(x/unit)*unit)
}

// Left estimates how long the active step of a run still takes, rounded so that it changes rarely;
// negative: unknown, also when only targets are left that wait for a retry or a report. While
// targets are held, it takes at least so long.
func (d *data) Left(r summary.ActiveRun) time.Duration {
	_, left := r.Pace(d.O.Now)
	if !r.NextAttempt.IsZero() {
		left = max(left, r.NextAttempt.Sub(d.O.Now))
	}
	switch {
	case left == 0 || r.Running+r.Due+r.Held == 0:
		return -1
	case left < time.Minute:
		return max(left.Round(5*time.Second), 5*time.Second)
	case left < time.Hour:
		return left.Round(time.Minute)
	}
	return left.Round(5 * time.Minute)
}

// Why says in words what a run waits for.
func (d *data) Why(w summary.WaitingRun) string {
	switch w.For {
	case "Agent":
		if w.CommandType != "" {
			return "No live agent runs commands of type " + w.CommandType + "."
		}
		return "No agent is alive."
	case "Stop":
		return "A stop was requested; the next pass of an agent ends it."
	case "Advance":
		return "The next pass of an agent advances it."
	case "Worker":
		return "All workers of all agents are busy."
	case "Limit":
		return "A limit is used up, or the next pass of an agent starts it."
	case "Retry":
		return "A failed attempt is repeated later."
	case "Resolution":
		return "An agent has to resolve its target group."
	case "Callback":
		return "It waits for a report from outside."
	case "Hold":
		return "Its databases are paused, or their windows are not open."
	}
	return w.For
}

// waitGroup are the runs that wait for the same, the longest wait first.
type waitGroup struct {
	summary.WaitingRun // the one that has waited longest
	Runs               []summary.WaitingRun
	// Targets are those of all of them.
	Targets int
}

// shownWaits is the number of runs of a group that the page names.
const shownWaits = 3

// Shown are the runs that the page names, and More is the number of the others.
func (g waitGroup) Shown() []summary.WaitingRun { return g.Runs[:min(len(g.Runs), shownWaits)] }

// More is described at Shown.
func (g waitGroup) More() int { return len(g.Runs) - len(g.Shown()) }

// Waits groups the runs that wait by what they wait for.
func (d *data) Waits() []waitGroup {
	var list []waitGroup
	at := map[string]int{}
	for _, w := range d.O.Waiting {
		key := w.For + " " + w.CommandType
		i, known := at[key]
		if !known {
			i = len(list)
			at[key] = i
			list = append(list, waitGroup{WaitingRun: w})
		}
		list[i].Runs = append(list[i].Runs, w)
		list[i].Targets += w.Targets
	}
	return list
}

// CutWaits reports whether more runs wait than were read.
func (d *data) CutWaits() bool { return len(d.O.Waiting) >= top }

// failures are the errors of the last hours.
type failures struct {
	summary.Failures
	Groups []failure
	// More is the number of groups that are not shown.
	More int
}

// failure is an error, with what had it.
type failure struct {
	summary.FailureGroup // the latest of the errors
	// Jobs are the names of the jobs with this error, at most three; MoreJobs counts the others.
	Jobs     []string
	MoreJobs int
	// Runs are counted once for each job. AtLeast is true if errors of a job were joined: a run
	// may have several of them.
	Runs    int
	AtLeast bool
	Targets int
}

// Key is the key of the error in the page of its latest run.
func (f failure) Key() string {
	number := 0
	if f.ErrorNumber != nil {
		number = int(*f.ErrorNumber)
	}
	return page.ErrorKey(number, f.Message)
}

// changing matches the parts of messages in which the same error differs: quoted names, ids and
// numbers.
var changing = regexp.MustCompile(`'[^']*'|"[^"]*"|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|0x[0-9a-fA-F]+|[0-9]+`)

// pattern returns what the messages of the same error have in common.
func pattern(message string) string {
	return strings.ToLower(strings.Join(strings.Fields(changing.ReplaceAllString(message, "#")), " "))
}

// groupFailures joins what is the same error, whatever the step and the job.
func groupFailures(f summary.Failures) *failures {
	type key struct {
		lifecycle, pattern string
		number             int32
	}
	type group struct {
		failure
		runs map[string]int // by job: the largest number of one of its errors
		jobs []string
	}
	groups := map[key]*group{}
	var order []*group
	for _, e := range f.Errors { // latest first
		k := key{lifecycle: string(e.Lifecycle), pattern: pattern(e.Message)}
		if e.ErrorNumber != nil {
			k.number = *e.ErrorNumber
		}
		g := groups[k]
		if g == nil {
			g = &group{failure: failure{FailureGroup: e}, runs: map[string]int{}}
			groups[k] = g
			order = append(order, g)
		}
		before, known := g.runs[e.JobName]
		if !known {
			g.jobs = append(g.jobs, e.JobName)
		}
		g.AtLeast = g.AtLeast || known
		g.runs[e.JobName] = max(before, e.Runs)
		g.Targets += e.Targets
		if e.First.Before(g.First) {
			g.First = e.First
		}
	}
	slices.SortStableFunc(order, func(a, b *group) int { return cmp.Compare(b.Last.UnixNano(), a.Last.UnixNano()) })
	out := &failures{Failures: f, More: max(len(order)-maxFailures, 0)}
	for _, g := range order[:len(order)-out.More] {
		for _, n := range g.runs {
			g.failure.Runs += n
		}
		g.MoreJobs = max(len(g.jobs)-3, 0)
		g.Jobs = g.jobs[:len(g.jobs)-g.MoreJobs]
		out.Groups = append(out.Groups, g.failure)
	}
	return out
}

// Partly reports whether failures at the beginning of the period are left out.
func (f *failures) Partly() bool { return f.CompleteSince.After(f.Since) }
