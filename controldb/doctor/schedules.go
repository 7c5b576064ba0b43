package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/wording"
)

// checkClockChanges reports the enabled schedules that lose all runs of a day, or run twice, at the
// next change of clocks of their zones.
func checkClockChanges(ctx context.Context, e *examination) ([]Finding, error) {
	if _, err := installed.ReadVersion(ctx, e.conn); errors.Is(err, dberror.ErrNotInstalled) {
		return nil, nil
	}
	now, err := call.SelectOne[time.Time](ctx, e.conn, `SELECT SYSUTCDATETIME();`)
	if err != nil {
		return nil, err
	}
	list, err := call.SelectRows[timetable.Schedule](ctx, e.conn, Text("clock_changes"))
	if err != nil {
		return nil, err
	}
	return clockChangeFindings(list, now), nil
}

// clockChangeFindings returns the findings about schedules with warnings.
func clockChangeFindings(list []timetable.Schedule, now time.Time) []Finding {
	var names []string
	for _, s := range list {
		effects, err := schedule.ClockEffects(schedule.Kind(s.Kind), []byte(s.Spec), schedule.Options{Zone: s.TimeZone, Created: s.DefinedTime}, now)
		if err != nil {
			continue // a newer agent has validated it
		}
		if i := slices.IndexFunc(effects, func(c schedule.ClockEffect) bool { return c.Next && (c.Lost || c.Doubled) }); i >= 0 {
			names = append(names, fmt.Sprintf("%s of job %s: %s", s.Name, s.JobName, effects[i].Text))
		}
	}
	if len(names) == 0 {
		return []Finding{good(CodeClockChanges, "no schedule loses or doubles runs at the next change of clocks")}
	}
	verb := "lose or double"
	if len(names) == 1 {
		verb = "loses or doubles"
	}
	return []Finding{{
		Code: CodeClockChanges, Severity: SeverityWarning,
		Found:   fmt.Sprintf("%s %s runs at the next change of clocks: %s", wording.Count(len(names), "schedule"), verb, strings.Join(names[:min(5, len(names))], "; ")),
		Why:     "a job does not run on that day, or runs once too often",
		Command: `set "gap" or "overlap" in the texts of the schedules with jobagent schedule update, or choose other times; jobagent schedule show JOB SCHEDULE has all warnings`,
	}}
}

// declaredSince is the schema version in which jobs declare parameters.
const declaredSince = 36

// checkParameters reports the enabled schedules that start no runs, because their parameters do not
// fit those that their jobs declare.
func checkParameters(ctx context.Context, e *examination) ([]Finding, error) {
	version, err := installed.ReadVersion(ctx, e.conn)
	if errors.Is(err, dberror.ErrNotInstalled) || err == nil && version < declaredSince {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := call.SelectRows[timetable.Schedule](ctx, e.conn, Text("parameters"))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return []Finding{good(CodeParameters, "the parameters of all schedules fit those that their jobs declare")}, nil
	}
	var names []string
	for _, s := range list[:min(5, len(list))] {
		name := s.Name
		if name == "" {
			name = "the own schedule"
		}
		names = append(names, fmt.Sprintf("%s of job %s: %s", name, s.JobName, s.ParametersFault))
	}
	return []Finding{{
		Code: CodeParameters, Severity: SeverityWarning,
		Found:   fmt.Sprintf("the parameters of %s do not fit what the jobs declare: %s", wording.Count(len(list), "schedule"), strings.Join(names, "; ")),
		Why:     "each of their instants is skipped, and no run starts",
		Command: "set the parameters with jobagent schedule update JOB SCHEDULE --param NAME=TEXT, or give the declared parameter a default with jobagent job parameter set",
	}}, nil
}
