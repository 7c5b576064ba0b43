package lookup

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
)

// Job reads one job by name.
func Job(ctx context.Context, store *controldb.Store, name string) (controldb.Job, error) {
	list, err := store.Jobs(ctx, name)
	if err != nil {
		return controldb.Job{}, err
	}
	if len(list) == 0 {
		return controldb.Job{}, exit.With(exit.CodeNotFound, fmt.Errorf("job %q does not exist; jobagent job list shows what does", name))
	}
	return list[0], nil
}

// AgentAlive says whether any agent is; known is false for a login that may not see that.
func AgentAlive(ctx context.Context, store *controldb.Store) (alive, known bool) {
	n, err := store.LiveAgents(ctx)
	return n > 0, err == nil
}

// Schedule reads one schedule.
func Schedule(ctx context.Context, store *controldb.Store, job, name string) (controldb.Schedule, error) {
	list, err := store.Schedules(ctx, controldb.ScheduleFilter{JobName: job, Name: &name})
	if err != nil {
		return controldb.Schedule{}, err
	}
	if len(list) == 0 {
		if _, err := Job(ctx, store, job); err != nil {
			return controldb.Schedule{}, err
		}
		return controldb.Schedule{}, exit.With(exit.CodeNotFound, fmt.Errorf("job %q has no schedule %q; jobagent schedule list --job shows what it has", job, name))
	}
	return list[0], nil
}

// ownZone matches a definition that names its zone itself.
var ownZone = regexp.MustCompile(`"timeZone"|TZID=`)

// GivenZone is the zone that was given beside a schedule's definition. The row shows the one that the agent has found, which may come from the definition.
func GivenZone(s controldb.Schedule) string {
	if ownZone.MatchString(s.Spec) || strings.HasPrefix(s.TimeZone, "+") || strings.HasPrefix(s.TimeZone, "-") {
		return ""
	}
	return s.TimeZone
}

// Members reads the members of a group that must exist.
func Members(ctx context.Context, store *controldb.Store, group string) ([]targets.Member, error) {
	groups, err := store.TargetGroups(ctx, group)
	if err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		return nil, exit.With(exit.CodeNotFound, fmt.Errorf("target group %q does not exist; jobagent target-group list shows what does", group))
	}
	return store.TargetGroupMembers(ctx, group)
}
