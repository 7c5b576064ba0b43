package imports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/jobs/importer"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/model"
)

// objects returns the jobs of an import with their target groups and alerts as jobagent apply reads
// them, and what is to be said of each. Steps and schedules that the script has in comments only
// are in these texts, too.
func objects(r *importer.Result) (list []manifest.Object, comment func(manifest.Object) string) {
	comments := map[manifest.Key]string{}
	add := func(kind manifest.Kind, value any, text string) {
		o := manifest.Object{Kind: kind, Value: value}
		list = append(list, o)
		comments[o.Key()] = text
	}
	groups := map[string]bool{}
	for _, j := range r.Jobs {
		for _, s := range j.Steps {
			g := s.TargetGroup
			if g.Name == "" || groups[strings.ToLower(g.Name)] {
				continue
			}
			groups[strings.ToLower(g.Name)] = true
			group, text := &manifest.TargetGroup{Name: g.Name}, ""
			switch {
			case g.Server != "":
				group.Members = []manifest.Member{{Server: g.Server, Database: g.Database}}
			case r.IsEmptyGroup(g):
				text = "It stays empty: steps on it succeed at once, so that the steps after them can go on."
			default:
				text = "A place for the databases on which the jobs are to run."
			}
			add(manifest.KindTargetGroup, group, text)
		}
	}
	for i := range r.Jobs {
		job, text := jobObject(r, &r.Jobs[i])
		add(manifest.KindJob, job, text)
		for _, a := range r.Jobs[i].Alerts {
			add(manifest.KindAlert, &manifest.Alert{
				Name: a.Name, Condition: "RunEnded", Job: job.Name, Lifecycles: strings.Split(a.Lifecycles, ","), Severity: "Warning", Throttle: 3600, NotifyResolved: true, Enabled: true,
			}, a.Operators)
		}
	}
	set := manifest.Set{Objects: list}
	set.Sort()
	return set.Objects, func(o manifest.Object) string { return comments[o.Key()] }
}

// jobObject returns a job, and what is to be said of it.
func jobObject(r *importer.Result, j *importer.Job) (*manifest.Job, string) {
	var text strings.Builder
	for _, f := range r.Findings {
		if f.Job == j.Name {
			text.WriteString(f.String() + "\n")
		}
	}
	job := &manifest.Job{Name: j.Name, Description: j.Description}
	for _, s := range j.Steps {
		if s.Original != "" {
			fmt.Fprintf(&text, "The step %q was:\n%s\n", s.Name, indented(s.Original))
		}
		if s.Command == "" {
			fmt.Fprintf(&text, "The step %q to write, which was: %s\n%s\n", s.Name, s.Action, indented(s.Proposal))
			continue
		}
		step := &manifest.Step{Name: s.Name, TargetGroup: s.TargetGroup.Name, Attempts: model.DefaultStep.Attempts,
			StepOptions: model.DefaultStep.StepOptions} // retry_errors as in the system it comes from, where all errors are retried
		step.RetryAttempts, step.Timeout = s.Attempts, s.Timeout
		step.InitialRetryInterval, step.MaximumRetryInterval, step.RetryIntervalMultiplier = s.Interval, s.Interval, 1
		if s.MaxInterval > 0 {
			step.MaximumRetryInterval, step.RetryIntervalMultiplier = s.MaxInterval, 2
		}
		if s.RunWhen != "" {
			step.RunWhen = s.RunWhen
		}
		if s.OnUnknownOutcome != "" {
			step.OnUnknownOutcome = s.OnUnknownOutcome
		}
		if s.After != nil {
			names := manifest.Names(slices.Clone(s.After))
			step.After = &names
		}
		kind := string(s.Type)
		if kind == "" {
			kind = "TSql"
		}
		step.SetCommand(kind, s.Command)
		job.Steps = append(job.Steps, step)
	}
	for _, s := range j.Schedules {
		schedule := &manifest.Schedule{Name: s.Name, Parameters: manifest.JSON(s.Parameters),
			ScheduleSettings: model.ScheduleSettings{Zone: s.Zone, Enabled: s.Enabled, Overlap: s.Overlap, CatchUp: s.CatchUp}}
		if s.Faulty() || !schedule.SetDefinition(string(s.Kind), s.Spec) {
			fmt.Fprintf(&text, "The schedule %q is not created, because of the faults above: %s\n", s.Name, s.Spec)
			continue
		}
		job.Schedules = append(job.Schedules, schedule)
	}
	for _, c := range j.Comments {
		text.WriteString(c + "\n")
	}
	return job, text.String()
}

// indented returns a text with each line moved to the right.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\r\n"), "\n", "\n    ")
}
