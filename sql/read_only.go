package sqlfs

import (
	"fmt"
	"strings"
	"sync"
)

// changedBy names the procedures that change what a public view shows. The rows of all other views
// are made by runs and agents.
var changedBy = map[string]string{
	"agent":                       "jobs.sp_set_job_agent, jobs.sp_enable_job_agent and jobs.sp_disable_job_agent",
	"alert_channels":              "jobs.sp_add_alert_channel, jobs.sp_update_alert_channel and jobs.sp_delete_alert_channel",
	"alert_rules":                 "jobs.sp_add_alert, jobs.sp_update_alert and jobs.sp_delete_alert",
	"alerts":                      "jobs.sp_acknowledge_alert",
	"calendars":                   "jobs.sp_add_calendar, jobs.sp_update_calendar and jobs.sp_delete_calendar",
	"callbacks":                   "jobs.sp_complete_callback",
	"control_database":            "jobs.sp_set_job_agent and jobs.sp_set_setting",
	"credentials":                 "jobs.sp_set_credential and jobs.sp_delete_credential",
	"job_collections":             "jobs.sp_set_job_collection and jobs.sp_delete_job_collection",
	"job_details":                 "jobs.sp_add_job, jobs.sp_update_job and jobs.sp_delete_job",
	"job_parameters":              "jobs.sp_set_job_parameters",
	"job_executions":              "jobs.sp_start_job and jobs.sp_stop_job",
	"jobs":                        "jobs.sp_add_job, jobs.sp_update_job and jobs.sp_delete_job",
	"jobstep_options":             "jobs.sp_set_jobstep_options",
	"jobsteps":                    "jobs.sp_add_jobstep, jobs.sp_update_jobstep and jobs.sp_delete_jobstep",
	"limits":                      "jobs.sp_set_limit",
	"private_endpoints":           "jobs.sp_set_private_endpoint and jobs.sp_delete_private_endpoint",
	"schedule_backfills":          "jobs.sp_backfill_schedule and jobs.sp_cancel_backfill",
	"scheduler_jobs":              "jobs.sp_set_scheduler_job and jobs.sp_delete_scheduler_job",
	"schedules":                   "jobs.sp_add_schedule, jobs.sp_update_schedule and jobs.sp_delete_schedule",
	"secret_keys":                 "jobs.sp_add_secret_key and jobs.sp_retire_secret_key",
	"secrets":                     "jobs.sp_set_secret and jobs.sp_delete_secret",
	"target_group_member_details": "jobs.sp_add_target_group_member and jobs.sp_delete_target_group_member",
	"target_group_members":        "jobs.sp_add_target_group_member and jobs.sp_delete_target_group_member",
	"target_groups":               "jobs.sp_add_target_group and jobs.sp_delete_target_group",
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
		hint := "Its rows are made by runs and agents."
		if by := changedBy[view]; by != "" {
			hint = "Use " + by + "."
		}
		t := Object{Kind: KindTrigger, Name: o.Name + readOnlySuffix, File: o.File, Text: fmt.Sprintf(`-- Refuses changes of rows through the view %[1]s, which would bypass the procedures.
-- Nobody but an owner of the database has the permission.
CREATE OR ALTER TRIGGER %[1]s`+readOnlySuffix+` ON %[1]s
INSTEAD OF INSERT, UPDATE, DELETE
AS
    THROW 50099, N'The view %[1]s is read only. %[2]s', 1;
`, o.Name, hint)}
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
