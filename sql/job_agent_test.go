package sqlfs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// alwaysPermitted are the public procedures that also work while the job agent is Disabled or gone,
// with the reason.
var alwaysPermitted = map[string]string{
	"jobs.sp_explain_execution":   "it only reads",
	"jobs.sp_get_overview":        "it only reads",
	"jobs.sp_get_failures":        "it only reads",
	"jobs.sp_get_recent_runs":     "it only reads",
	"jobs.sp_get_limits":          "it only reads",
	"jobs.sp_get_run":             "it only reads",
	"jobs.sp_get_run_targets":     "it only reads",
	"jobs.sp_get_target_outcomes": "it only reads",
	"jobs.sp_get_target_runs":     "it only reads",
	"jobs.sp_stop_job":            "it ends work",
	"jobs.sp_cancel_backfill":     "it ends work",
	"jobs.sp_complete_callback":   "it ends work",
	"jobs.sp_purge_jobhistory":    "history is no definition",
	"jobs.sp_set_setting":         "it is for administrators, and defines no job",
	"jobs.sp_add_secret_key":      "it is for administrators, and defines no job",
	"jobs.sp_retire_secret_key":   "it is for administrators, and defines no job",
	"jobs.sp_acknowledge_alert":   "it defines nothing",
	"jobs.sp_mute_alert":          "it starts nothing",
	"jobs.sp_test_alert":          "it tries a channel, and defines nothing",
	"jobs.sp_set_job_agent":       "it checks the state itself",
	"jobs.sp_delete_job_agent":    "it checks the state itself",
	"jobs.sp_enable_job_agent":    "it checks the state itself",
	"jobs.sp_disable_job_agent":   "it checks the state itself",

	"jobs.sp_pause_control_database":  "it starts nothing",
	"jobs.sp_resume_control_database": "the pause is another switch than the state",
	"jobs.sp_after_restore":           "it ends work",
	"jobs.sp_give_up_job_execution":   "it ends work",
	"jobs.sp_retry_job_execution_now": "what waits would be due anyway",
}

// TestPublicProceduresCheckTheJobAgent: each public procedure that changes definitions or starts
// something calls jobs_internal.check_job_agent, itself or through a procedure that it calls.
func TestPublicProceduresCheckTheJobAgent(t *testing.T) {
	objects, err := Objects()
	require.NoError(t, err)
	texts := map[string]string{}
	for _, o := range objects {
		texts[o.Name] = code(o)
	}
	calls := regexp.MustCompile(`EXECUTE (?:@\w+ = )?(jobs(?:_internal)?\.\w+)`)
	var reaches func(name string, seen map[string]bool) bool
	reaches = func(name string, seen map[string]bool) bool {
		if name == "jobs_internal.check_job_agent" {
			return true
		}
		if seen[name] {
			return false
		}
		seen[name] = true
		for _, m := range calls.FindAllStringSubmatch(texts[name], -1) {
			if reaches(m[1], seen) {
				return true
			}
		}
		return false
	}
	for _, o := range objects {
		if o.Kind != KindProcedure || !strings.HasPrefix(o.Name, "jobs.sp_") {
			continue
		}
		_, permitted := alwaysPermitted[o.Name]
		if checks := reaches(o.Name, map[string]bool{}); permitted {
			require.False(t, checks, "%s calls jobs_internal.check_job_agent now: remove it from the list", o.Name)
		} else if !checks {
			t.Errorf("%s: call jobs_internal.check_job_agent first in the transaction, or add it to alwaysPermitted with the reason", o.Name)
		}
	}
}
