package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/wording"
)

// holdsSince is the schema version in which databases have pauses and windows.
const holdsSince = 46

// holdsDatabases reports whether the control database has pauses and windows of databases.
func holdsDatabases(ctx context.Context, e *examination) (bool, error) {
	version, err := installed.ReadVersion(ctx, e.conn)
	if errors.Is(err, dberror.ErrNotInstalled) {
		return false, nil
	}
	return version >= holdsSince, err
}

// windowSpec is a window of databases with the texts of its calendars; an empty one is absent.
type windowSpec struct {
	Name      string `db:"window_name"`
	Zone      string `db:"time_zone"`
	Calendar  string `db:"calendar"`
	Blackouts string `db:"blackouts"`
}

// times returns when the window is open. Databases may have other zones, by a tag.
func (w windowSpec) times() (o schedule.OpenTimes, err error) {
	zone := time.UTC
	if w.Zone != "" {
		if zone, err = schedule.LoadZone(w.Zone); err != nil {
			return o, err
		}
	}
	if w.Calendar != "" {
		if o.Within, err = schedule.ParseCalendarIn([]byte(w.Calendar), zone); err != nil {
			return o, err
		}
	}
	if w.Blackouts != "" {
		o.Except, err = schedule.ParseCalendarIn([]byte(w.Blackouts), zone)
	}
	return o, err
}

// checkTargetWindows reports the windows of databases that do not open.
func checkTargetWindows(ctx context.Context, e *examination) ([]Finding, error) {
	if has, err := holdsDatabases(ctx, e); err != nil || !has {
		return nil, err
	}
	now, err := call.SelectOne[time.Time](ctx, e.conn, `SELECT SYSUTCDATETIME();`)
	if err != nil {
		return nil, err
	}
	list, err := call.SelectRows[windowSpec](ctx, e.conn, Text("target_windows"))
	if err != nil {
		return nil, err
	}
	return targetWindowFindings(list, now), nil
}

// targetWindowFindings returns the findings about windows of databases.
func targetWindowFindings(list []windowSpec, now time.Time) []Finding {
	var names []string
	for _, w := range list {
		times, err := w.times()
		if err != nil {
			names = append(names, fmt.Sprintf("%s (%v)", w.Name, err))
			continue
		}
		if open, changes := times.StateAt(now); !open && changes.IsZero() {
			names = append(names, w.Name)
		}
	}
	if len(names) == 0 {
		return []Finding{good(CodeTargetWindows, "each window of databases opens within a year")}
	}
	verb := "do not open"
	if len(names) == 1 {
		verb = "does not open"
	}
	return []Finding{{
		Code: CodeTargetWindows, Severity: SeverityWarning,
		Found:   fmt.Sprintf("%s of databases %s within a year: %s", wording.Count(len(names), "window"), verb, strings.Join(names[:min(5, len(names))], "; ")),
		Why:     "runs wait for these databases for the time limit of each step, and then skip them",
		Command: "change the calendars with jobagent calendar update, or the windows with jobagent target window set or delete",
	}}
}

// checkTargetPauses reports the databases whose pauses somebody seems to have forgotten.
func checkTargetPauses(ctx context.Context, e *examination) ([]Finding, error) {
	if has, err := holdsDatabases(ctx, e); err != nil || !has {
		return nil, err
	}
	list, err := call.SelectRows[holds.Pause](ctx, e.conn, Text("target_pauses"))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return []Finding{good(CodeTargetPauses, "no database has been paused for 30 days without an end")}, nil
	}
	var names []string
	for _, p := range list[:min(5, len(list))] {
		names = append(names, fmt.Sprintf("%s/%s since %s by %s", p.Server, p.Database, p.Since.Format(time.DateOnly), cmp.Or(p.By, "an unknown login")))
	}
	verb := "have"
	if len(list) == 1 {
		verb = "has"
	}
	return []Finding{{
		Code: CodeTargetPauses, Severity: SeverityWarning,
		Found:   fmt.Sprintf("%s %s been paused for 30 days without an end: %s", wording.Count(len(list), "database"), verb, strings.Join(names, "; ")),
		Why:     "runs wait for these databases for the time limit of each step, and then skip them",
		Command: "jobagent target resume SERVER DATABASE, or give the pause an end with jobagent target pause --until",
	}}, nil
}
