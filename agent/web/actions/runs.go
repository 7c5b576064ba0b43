package actions

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/startcheck"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/action"
)

type (
	confirmFunc func(context.Context, *page.Request) (*page.Confirmation, error)
	doFunc      func(context.Context, *page.Request) (*page.Done, error)
)

// shownSteps bounds the steps that the confirmation of a start lists.
const shownSteps = 12

// confirmStart says what a run of a job would do.
func confirmStart(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	job, err := r.Store.JobDetail(ctx, r.Value("job"))
	if err != nil {
		return nil, err
	}
	steps, err := r.Store.JobSteps(ctx, job.Name, nil)
	if err != nil {
		return nil, err
	}
	effects := []string{fmt.Sprintf("Starts a run of version %d of the job %s with %s.", job.Version, quoted(job.Name), count(len(steps), "step", "steps"))}
	described, err := describeSteps(ctx, r.Store, steps)
	if err != nil {
		return nil, err
	}
	effects = append(effects, described...)
	active, err := r.Store.Executions(ctx, controldb.ExecutionFilter{JobName: job.Name, RootsOnly: true, ActiveOnly: true, Limit: 100})
	if err != nil {
		return nil, err
	}
	if len(active) > 0 {
		effects = append(effects, count(len(active), "run of this job is active. The new run does not wait for it.",
			"runs of this job are active. The new run does not wait for them."))
	}
	known, err := startcheck.New(job.Parameters, steps)
	if err != nil {
		return nil, err
	}
	cli, tsql := []string{"job", "start", job.Name}, []page.Arg{{Name: "job_name", Value: job.Name}}
	// What is wrong with the form is said at its fields.
	if text, _, err := startParameters(r, known); err == nil && text != "" {
		tsql = append(tsql, page.Arg{Name: "parameters", Value: text})
		cli = append(cli, "--params-file", "parameters.json")
	}
	return &page.Confirmation{
		Title: "Start " + job.Name, Nav: "jobs", Effects: effects, Button: "Start the job", Back: r.Path("jobs", job.Name),
		Fields: startFields(known), Equivalents: commands(page.CLI(cli...), page.TSQL("jobs.sp_start_job", tsql...)),
	}, nil
}

// describeSteps says what the steps do, and on how many targets as of the last resolution of their
// target groups.
func describeSteps(ctx context.Context, store *controldb.Store, steps []controldb.JobStep) (sentences []string, err error) {
	sizes := map[uuid.UUID]string{}
	for i, step := range steps {
		if i == shownSteps {
			return append(sentences, "And "+count(len(steps)-shownSteps, "further step.", "further steps.")), nil
		}
		what := kinds[action.Type(step.CommandType)]
		if what == "" {
			what = "is of type " + step.CommandType
		}
		if step.TargetGroup == "" { // an action without targets runs once
			sentences = append(sentences, fmt.Sprintf("Step %d, %s: %s.", step.StepID, quoted(step.StepName), what))
			continue
		}
		size, known := sizes[step.TargetGroupID]
		if !known {
			if size, err = sizeOf(ctx, store, step); err != nil {
				return nil, err
			}
			sizes[step.TargetGroupID] = size
		}
		sentences = append(sentences, fmt.Sprintf("Step %d, %s: %s on the target group %s (%s).",
			step.StepID, quoted(step.StepName), what, quoted(step.TargetGroup), size))
	}
	return sentences, nil
}

// kinds says what steps of a type do.
var kinds = map[action.Type]string{
	action.TypeTSQL: "runs a script", action.TypeHTTP: "calls an HTTP endpoint", action.TypeProcess: "runs a process of the agent's machine",
	action.TypeStorageQueue: "puts a message on a queue", action.TypeServiceBusQueue: "sends a message to a queue",
	action.TypeServiceBusTopic: "sends a message to a topic",
}

// sizeOf says how many targets a target group had when it was resolved last.
func sizeOf(ctx context.Context, store *controldb.Store, step controldb.JobStep) (string, error) {
	size, known, err := store.SizeOfGroup(ctx, step.TargetGroupID, step.TargetGroup)
	switch {
	case err != nil:
		return "", err
	case !known:
		return "it was not resolved before", nil
	case size.Resolved.IsZero():
		return count(size.Databases, "database", "databases"), nil
	}
	return count(size.Databases, "target", "targets") + " when it was resolved last, on " + instant(size.Resolved), nil
}

// start starts a run. A form that is sent twice starts one: the run has the form's ID.
func start(ctx context.Context, r *page.Request) (*page.Done, error) {
	run, err := operation(r)
	if err != nil {
		return nil, err
	}
	job := r.Value("job")
	known, err := startcheck.Read(ctx, r.Store, job)
	if err != nil {
		return nil, err
	}
	text, field, err := startParameters(r, known)
	if err == nil {
		err = checkStart(known, text, value(r, fieldAllowMissing) == "true")
	}
	if err != nil {
		return nil, &page.InputError{Field: field, Problem: page.Sentence(err.Error())}
	}
	if _, err := r.Store.StartJobWith(ctx, job, run, text); err != nil {
		return nil, refuse(err, fieldParameters, 50069, 50070, 50071, 50072, 50073, 50159, 50160)
	}
	return &page.Done{Location: r.Path("runs", run.String()), Notice: "The run of " + quoted(job) + " was started."}, nil
}

// confirmStop says what stopping a run would end.
func confirmStop(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	run, err := id(r, "run")
	if err != nil {
		return nil, err
	}
	progress, err := r.Store.RunProgress(ctx, run)
	if err != nil {
		return nil, err
	}
	effects := []string{"The run of " + quoted(progress.JobName) + " has ended already: stopping it does nothing."}
	if progress.Active {
		effects = []string{
			fmt.Sprintf("Stops the run of %s. %s of %s have not ended, counted per step.", quoted(progress.JobName),
				page.Grouped(progress.ActiveTargets), count(progress.Targets, "target", "targets")),
			"Targets that wait are canceled. Scripts that run are canceled too: what they have not committed is rolled back.",
			"Targets that have ended keep their results.",
		}
	}
	return &page.Confirmation{
		Title: "Stop the run of " + progress.JobName, Nav: "runs", Effects: effects, Danger: true, Button: "Stop the run", Back: r.Path("runs", run.String()),
		Equivalents: commands(page.CLI("job", "stop", run.String()), page.TSQL("jobs.sp_stop_job", page.Arg{Name: "job_execution_id", Value: run})),
	}, nil
}

// stop stops a run.
func stop(ctx context.Context, r *page.Request) (*page.Done, error) {
	run, err := id(r, "run")
	if err != nil {
		return nil, err
	}
	if err := r.Store.StopJob(ctx, run); err != nil {
		return nil, err
	}
	return &page.Done{Location: r.Path("runs", run.String()), Notice: "The run was asked to stop."}, nil
}

// retriesOf returns what the address of a form names: all that waits for a retry in a run, or only
// one target (?step= and ?target=). args are the arguments of the command and of the procedure
// after the run, and back is the page that the form was opened on.
func retriesOf(r *page.Request) (one controldb.Retries, cli []string, tsql []page.Arg, back string, err error) {
	if one.Run, err = id(r, "run"); err != nil {
		return one, nil, nil, "", err
	}
	run := one.Run.String()
	cli, tsql, back = []string{run}, []page.Arg{{Name: "job_execution_id", Value: one.Run}}, r.Path("runs", run)
	if r.Query("target") == "" {
		return one, cli, tsql, back, nil
	}
	target, err := uuid.Parse(r.Query("target"))
	step, wrong := strconv.Atoi(r.Query("step"))
	if err != nil || wrong != nil || step < 1 {
		return one, nil, nil, "", controldb.ErrExecutionNotFound
	}
	one.StepID, one.Target = &step, &target
	cli = append(cli, "--step-id", strconv.Itoa(step), "--target", target.String())
	tsql = append(tsql, page.Arg{Name: "step_id", Value: step}, page.Arg{Name: "target_id", Value: target})
	return one, cli, tsql, r.Path("runs", run, "targets", target.String()) + "?step=" + strconv.Itoa(step), nil
}

// confirmRetries says what would be retried now or given up.
func confirmRetries(giveUp bool) confirmFunc {
	return func(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
		one, cli, tsql, back, err := retriesOf(r)
		if err != nil {
			return nil, err
		}
		progress, err := r.Store.RunProgress(ctx, one.Run)
		if err != nil {
			return nil, err
		}
		what := "The target waits for a retry"
		if one.Target == nil {
			states, err := r.Store.RunStepStates(ctx, one.Run)
			if err != nil {
				return nil, err
			}
			waiting := 0
			for _, s := range states {
				if s.Lifecycle == jobs.WaitingForRetry {
					waiting += s.Total
				}
			}
			what = count(waiting, "target of the run waits for a retry", "targets of the run wait for a retry")
		}
		c := &page.Confirmation{
			Title: "Retry now: " + progress.JobName, Nav: "runs", Button: "Retry now", Back: back,
			Effects: []string{what + ".", "The next attempt is due at once. It counts as it would have later."},
			Equivalents: commands(page.CLI(append([]string{"execution", "retry-now"}, cli...)...),
				page.TSQL("jobs.sp_retry_job_execution_now", tsql...)),
		}
		if giveUp {
			c.Title, c.Button, c.Danger = "Give up what waits: "+progress.JobName, "Give up", true
			c.Effects = []string{what + ".", "What waits ends as Failed, with its last error. The run goes on without it."}
			c.Equivalents = commands(page.CLI(append([]string{"execution", "give-up"}, cli...)...),
				page.TSQL("jobs.sp_give_up_job_execution", tsql...))
		}
		c.Effects = append(c.Effects, "What runs, has not begun or has ended stays as it is.")
		return c, nil
	}
}

// changeRetries makes what waits due, or gives it up.
func changeRetries(giveUp bool) doFunc {
	return func(ctx context.Context, r *page.Request) (*page.Done, error) {
		one, _, _, back, err := retriesOf(r)
		if err != nil {
			return nil, err
		}
		change, words := r.Store.RetryNow, [2]string{"attempt is due now.", "attempts are due now."}
		if giveUp {
			change, words = r.Store.GiveUp, [2]string{"target was given up.", "targets were given up."}
		}
		n, err := change(ctx, one)
		if err != nil {
			return nil, err
		}
		notice := "Nothing waited for a retry any more."
		if n > 0 {
			notice = count(n, words[0], words[1])
		}
		return &page.Done{Location: back, Notice: notice}, nil
	}
}

// rerunStates are the final states that a rerun may include, as jobs.sp_rerun_job_execution names
// them, with words.
var rerunStates = []struct{ name, label string }{
	{"Failed", "Failed"}, {"TimedOut", "Timed out"}, {"Canceled", "Canceled"}, {"Skipped", "Skipped"},
	{"Unknown", "Unknown: it is not known whether the script ran"},
}

// countStates counts the targets of a run by the states of a rerun, and those that succeeded.
func countStates(list []controldb.StepState) (counts map[string]int, succeeded int) {
	counts = map[string]int{}
	for _, s := range list {
		switch {
		case s.Unknown:
			counts["Unknown"] += s.Total
		case s.Lifecycle == jobs.Succeeded || s.Lifecycle == jobs.SucceededWithSkipped:
			succeeded += s.Total
		default:
			counts[string(s.Lifecycle)] += s.Total
		}
	}
	return counts, succeeded
}

// confirmRerun says how many targets a rerun would have.
func confirmRerun(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	run, err := id(r, "run")
	if err != nil {
		return nil, err
	}
	progress, err := r.Store.RunProgress(ctx, run)
	if err != nil {
		return nil, err
	}
	states, err := r.Store.RunStepStates(ctx, run)
	if err != nil {
		return nil, err
	}
	counts, succeeded := countStates(states)
	c := &page.Confirmation{
		Title: "Rerun what failed of " + progress.JobName, Nav: "runs", Button: "Start the rerun", Back: r.Path("runs", run.String()),
	}
	total := 0
	for _, state := range rerunStates {
		if n := counts[state.name]; n > 0 {
			total += n
			c.Fields = append(c.Fields, page.Field{
				Name: state.name, Kind: "checkbox", Value: "true", Label: fmt.Sprintf("%s (%s)", state.label, page.Grouped(n)),
			})
		}
	}
	switch {
	case progress.Active:
		c.Effects = append(c.Effects, "The run is still active. It can be run again when it has ended.")
	case total == 0:
		c.Effects = append(c.Effects, "All targets that the run reached succeeded. Steps that it did not reach run on their whole target groups.")
	default:
		c.Effects = append(c.Effects, fmt.Sprintf("Starts a run of the same version, unless you choose the current one, with the same parameters on %s of this run, counted per step.",
			count(total, "target", "targets")),
			fmt.Sprintf("The %s that succeeded are not touched. Target groups are not resolved again.", count(succeeded, "target", "targets")))
	}
	before, err := r.Store.RerunsOf(ctx, run)
	if err != nil {
		return nil, err
	}
	if n := len(before); n > 0 {
		last := before[n-1]
		c.Effects = append(c.Effects, fmt.Sprintf("The run was rerun before: by %s at %s UTC, %s. This repeats the same targets again, also those that succeeded then; "+
			"to repeat what failed since, rerun the rerun %s.", last.StartedBy, last.CreateTime.UTC().Format("2006-01-02 15:04:05"), last.Lifecycle, last.ID))
	}
	if !progress.Active {
		c.Fields = append(c.Fields, page.Field{
			Name: currentVersion, Kind: "checkbox", Label: "Run the current version of the job, with its scripts as they are now. It must have the same steps",
		})
	}
	only := chosen(r, counts)
	cli, tsql := []string{"execution", "rerun", run.String()}, []page.Arg{{Name: "job_execution_id", Value: run}}
	if only != "" {
		cli, tsql = append(cli, "--only", only), append(tsql, page.Arg{Name: "only", Value: only})
	}
	if version := chosenVersion(r); version != "" {
		cli, tsql = append(cli, "--job-version", strings.ToLower(version)), append(tsql, page.Arg{Name: "job_version", Value: version})
	}
	c.Equivalents = commands(page.CLI(cli...), page.TSQL("jobs.sp_rerun_job_execution", tsql...))
	return c, nil
}

// chosen returns the states that the form has marked, or all that the run has. It is empty for all
// states.
func chosen(r *page.Request, counts map[string]int) string {
	var list []string
	offered := 0
	for _, state := range rerunStates {
		if counts[state.name] > 0 {
			offered++
		}
		if r.Form != nil && r.Form.Get(state.name) == "true" {
			list = append(list, state.name)
		}
	}
	if r.Form == nil || len(list) == offered {
		return ""
	}
	return strings.Join(list, ",")
}

// currentVersion is the field of the form that asks for the current version of the job.
const currentVersion = "current_version"

// chosenVersion returns the version that the form asks for; empty is that of the run.
func chosenVersion(r *page.Request) string {
	if r.Form != nil && r.Form.Get(currentVersion) == "true" {
		return "Current"
	}
	return ""
}

// rerun starts a rerun. A form that is sent twice starts one: the run has the form's ID.
func rerun(ctx context.Context, r *page.Request) (*page.Done, error) {
	origin, err := id(r, "run")
	if err != nil {
		return nil, err
	}
	run, err := operation(r)
	if err != nil {
		return nil, err
	}
	states, err := r.Store.RunStepStates(ctx, origin)
	if err != nil {
		return nil, err
	}
	counts, _ := countStates(states)
	some := slices.ContainsFunc(rerunStates, func(s struct{ name, label string }) bool { return r.Form.Get(s.name) == "true" })
	if !some && slices.ContainsFunc(rerunStates, func(s struct{ name, label string }) bool { return counts[s.name] > 0 }) {
		return nil, &page.InputError{Problem: "Choose at least one state."}
	}
	if _, err := r.Store.RerunExecution(ctx, controldb.RerunRequest{Origin: origin, Only: chosen(r, counts), Version: chosenVersion(r), ID: run}); err != nil {
		return nil, err
	}
	return &page.Done{Location: r.Path("runs", run.String()), Notice: "The rerun was started."}, nil
}
