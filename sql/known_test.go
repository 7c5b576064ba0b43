package sqlfs

// knownJoins are objects with joins of table variables that rule "plan" finds and that are not answered yet. Objects go from here only.
var knownJoins = map[string]bool{}

// knownOrders are objects with locks that rule "order" finds and that are not answered yet. Objects go from here only.
var knownOrders = map[string]bool{}

// longLines are the lines of more than lineWidth columns that are left, by object. Numbers go down only.
var longLines = map[string]int{
	"jobs.sp_add_calendar":               1,
	"jobs.sp_add_job":                    1,
	"jobs.sp_add_schedule":               1,
	"jobs.sp_add_target_group":           1,
	"jobs.sp_add_target_group_member":    3,
	"jobs.sp_backfill_schedule":          3,
	"jobs.sp_cancel_backfill":            3,
	"jobs.sp_delete_calendar":            2,
	"jobs.sp_delete_job":                 1,
	"jobs.sp_delete_target_group":        2,
	"jobs.sp_delete_target_group_member": 1,
	"jobs.sp_purge_jobhistory":           1,
	"jobs.sp_set_limit":                  4,
	"jobs.sp_start_job":                  1,
	"jobs.sp_stop_job":                   1,
	"jobs.sp_update_calendar":            1,
	"jobs.sp_update_job":                 1,
	"jobs.sp_update_schedule":            2,
	"jobs_internal.activate_schedule":    3,
	"jobs_internal.advance":              5,
	"jobs_internal.check_job_name":       1,
	"jobs_internal.check_overlap":        1,
	"jobs_internal.check_schedule":       2,
	"jobs_internal.check_schedule_text":  2,
	"jobs_internal.check_step":           4,
	"jobs_internal.complete_resolution":  6,
	"jobs_internal.delete_leftovers":     2,
	"jobs_internal.due_schedules":        2,
	"jobs_internal.end_scheduled_runs":   2,
	"jobs_internal.find_step":            3,
	"jobs_internal.lock_schedule":        1,
	"jobs_internal.lock_target_group":    1,
	"jobs_internal.purge_history":        2,
	"jobs_internal.record_verdicts":      1,
	"jobs_internal.settle_outcomes":      5,
	"jobs_internal.start_buffered_runs":  2,
	"jobs_internal.start_term":           3,
	"jobs_internal.job_executions":       1,
	"jobs_internal.schedule_skips":       1,
	"jobs_internal.target_executions":    1,
	"jobs.schedule_backfills":            1,
	"jobs_internal.queue_limits":         4,
}
