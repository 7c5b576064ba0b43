package sqlfs

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
)

// verbs begin the names of the procedures that change what a public view shows, before the view's
// name in the singular: jobs.sp_add_calendar changes jobs.calendars.
var verbs = []string{"add", "set", "update", "rename", "enable", "disable", "pause", "mute", "retire", "complete", "delete"}

// nouns are in the names of procedures in place of the view's name.
var nouns = map[string]string{
	"agent":                       "job_agent",
	"alert_rules":                 "alert",
	"job_details":                 "job",
	"target_group_member_details": "target_group_member",
}

// changedBy names the procedures that change what a view shows, if their names do not say so.
var changedBy = map[string][]string{
	"alerts":             {"jobs.sp_acknowledge_alert"},
	"control_database":   {"jobs.sp_set_job_agent", "jobs.sp_set_setting"},
	"job_executions":     {"jobs.sp_start_job", "jobs.sp_stop_job"},
	"schedule_backfills": {"jobs.sp_backfill_schedule", "jobs.sp_cancel_backfill"},
}

// howToChange says how to change what a public view shows.
func howToChange(view string, all []Object) string {
	list, ok := changedBy[view]
	for _, verb := range verbs {
		name := "jobs.sp_" + verb + "_" + cmp.Or(nouns[view], view)
		for _, o := range all {
			if !ok && (o.Name == name || o.Name+"s" == name) {
				list = append(list, o.Name)
			}
		}
	}
	switch n := len(list); n {
	case 0:
		return "Its rows are made by runs and agents."
	case 1:
		return "Use " + list[0] + "."
	default:
		return "Use " + strings.Join(list[:n-1], ", ") + " and " + list[n-1] + "."
	}
}

// readOnlySuffix ends the names of the triggers, after the name of the view.
const readOnlySuffix = "_read_only"

// ViewOf returns the name of the view of a trigger of [ReadOnly].
func ViewOf(trigger Object) string { return strings.TrimSuffix(trigger.Name, readOnlySuffix) }

// readOnly makes the triggers once.
var readOnly = sync.OnceValues(func() ([]Object, error) {
	all, err := objects()
	if err != nil {
		return nil, err
	}
	var list []Object
	for _, o := range all {
		view, ok := strings.CutPrefix(o.Name, "jobs.")
		if o.Kind != KindView || !ok {
			continue
		}
		t := Object{Kind: KindTrigger, Name: o.Name + readOnlySuffix, File: o.File, Text: fmt.Sprintf(`-- Refuses changes of rows through the view %[1]s, which would bypass the procedures.
-- Nobody but an owner of the database has the permission.
CREATE OR ALTER TRIGGER %[1]s`+readOnlySuffix+` ON %[1]s
INSTEAD OF INSERT, UPDATE, DELETE
AS
    THROW 50099, N'The view %[1]s is read only. %[2]s', 1;
`, o.Name, howToChange(view, all))}
		t.SHA256 = hash([]byte(t.Text))
		list = append(list, t)
	}
	return list, nil
})

// ReadOnly returns the triggers that make the public views read only, also for an owner of the
// database. SQL Server would write a change of a view to its table as long as it affects columns of
// one table (https://learn.microsoft.com/sql/t-sql/statements/create-view-transact-sql, "Updatable
// views"). A trigger, unlike a set operator that would do the same, leaves the plans of queries as
// they are; and ALTER VIEW keeps it. All triggers are alike, so there are no files of them.
func ReadOnly() ([]Object, error) { return readOnly() }
