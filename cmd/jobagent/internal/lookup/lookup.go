// Package lookup reads objects of the control database by name. An error names the command that
// lists them.
package lookup

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/naming"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/targets"
)

// Job reads a job by its name. It is an error if there is none.
func Job(ctx context.Context, store *controldb.Store, name string) (catalog.Job, error) {
	list, err := catalog.On(store).Jobs(ctx, name)
	if err != nil {
		return catalog.Job{}, err
	}
	if len(list) == 0 {
		return catalog.Job{}, missing(ctx, store, "job", name, naming.Filter{Kind: naming.OfJobs}, "jobagent job list shows all jobs")
	}
	return list[0], nil
}

// AgentAlive reports whether there is a live agent. If known is false, the login may not read that.
func AgentAlive(ctx context.Context, store *controldb.Store) (alive, known bool) {
	n, err := fleet.On(store).Live(ctx)
	return n > 0, err == nil
}

// Schedule reads a schedule by its name. It is an error if there is none.
func Schedule(ctx context.Context, store *controldb.Store, job, name string) (timetable.Schedule, error) {
	list, err := timetable.On(store).List(ctx, timetable.Filter{JobName: job, Name: &name})
	if err != nil {
		return timetable.Schedule{}, err
	}
	if len(list) == 0 {
		if _, err := Job(ctx, store, job); err != nil {
			return timetable.Schedule{}, err
		}
		f := naming.Filter{Kind: naming.OfSchedules, Of: job}
		return timetable.Schedule{}, missing(ctx, store, "schedule", name, f, "jobagent schedule list --job JOB shows its schedules")
	}
	return list[0], nil
}

// Trigger reads a trigger of a job by its name. It is an error if there is none.
func Trigger(ctx context.Context, store *controldb.Store, job, name string) (triggers.Trigger, error) {
	t, err := triggers.On(store).Get(ctx, job, name)
	if !errors.Is(err, dberror.ErrTriggerNotFound) {
		return t, err
	}
	if _, err := Job(ctx, store, job); err != nil {
		return triggers.Trigger{}, err
	}
	f := naming.Filter{Kind: naming.OfTriggers, Of: job}
	return triggers.Trigger{}, missing(ctx, store, "trigger", name, f, "jobagent job trigger list --job JOB shows its triggers")
}

// Calendar reads a calendar by its name. It is an error if there is none.
func Calendar(ctx context.Context, store *controldb.Store, name string) (timetable.Calendar, error) {
	list, err := timetable.On(store).Calendars(ctx, name)
	if err != nil {
		return timetable.Calendar{}, err
	}
	if len(list) == 0 {
		return timetable.Calendar{}, missing(ctx, store, "calendar", name, naming.Filter{Kind: naming.OfCalendars}, "jobagent calendar list shows all calendars")
	}
	return list[0], nil
}

// ownZone matches a definition that names its time zone itself.
var ownZone = regexp.MustCompile(`"timeZone"|TZID=`)

// GivenZone returns the time zone that was given beside a schedule's definition. The row has the
// zone that the agent found, which may be the definition's own.
func GivenZone(s timetable.Schedule) string {
	if ownZone.MatchString(s.Spec) || strings.HasPrefix(s.TimeZone, "+") || strings.HasPrefix(s.TimeZone, "-") {
		return ""
	}
	return s.TimeZone
}

// Members reads the members of a target group, and those of the groups that are members. It is an
// error if there is no such group.
func Members(ctx context.Context, store *controldb.Store, group string) ([]targets.Member, error) {
	groups, err := targetgroups.On(store).List(ctx, group)
	if err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		return nil, missing(ctx, store, "target group", group, naming.Filter{Kind: naming.OfTargetGroups}, "jobagent target-group list shows all groups")
	}
	return targetgroups.On(store).ResolvableMembers(ctx, group)
}

// OwnSchedule returns an error if nobody has defined the schedule of a job's own definition:
// enabling it would start a run.
func OwnSchedule(ctx context.Context, store *controldb.Store, name string) error {
	job, err := Job(ctx, store, name)
	if err != nil || job.HasOwnSchedule() {
		return err
	}
	return exit.Usagef("job %s has no schedule of its own: enabling it would start a run now; "+
		"try jobagent job start, or jobagent schedule add", job.Name)
}
