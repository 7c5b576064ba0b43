package script

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	jobsql "github.com/jobagent/jobagent/sql"
)

// unreachable are errors that a procedure lists only because a procedure that it calls throws them,
// for arguments that it never gives, or only if another session deletes something meanwhile.
var unreachable = map[string]string{
	"jobs.sp_add_alert 50001":               "an empty name of a job means none",
	"jobs.sp_update_alert 50001":            "an empty name of a job means none",
	"jobs.sp_set_job 50100":                 "it calls sp_update_job only for a job that it has locked",
	"jobs.sp_set_credential 50403":          "it checks no server name",
	"jobs.sp_set_limit 50403":               "it checks no server name: a server may be the host that an action calls",
	"jobs.sp_set_credential 50074":          "it has checked the name, and store_secret accepts any name of a credential",
	"jobs_rest.report_run 50135":            "it has found the callback, which would have to be deleted before it is locked",
	"jobs_internal.get_credential 50150":    "a credential is stored and deleted with its secret in one transaction",
	"jobs.sp_extend_rollout_bake 50097":     "it gives change_rollout no text",
	"jobs.sp_extend_rollout_deadline 50097": "it gives change_rollout no text",
	"jobs.sp_extend_rollout_deadline 50191": "it names no wave and no target",
	"jobs.sp_resume_rollout 50097":          "it gives change_rollout no text",
	"jobs.sp_retry_rollout_wave 50097":      "it gives change_rollout no text",
	"jobs.sp_abort_rollout 50191":           "it names no wave and no target",
	"jobs.sp_extend_rollout_bake 50191":     "it names no wave and no target",
	"jobs.sp_pause_rollout 50191":           "it names no wave and no target",
	"jobs.sp_resume_rollout 50191":          "it names no wave and no target",
	"jobs.sp_retry_rollout_wave 50191":      "it names no wave and no target",
	"jobs.sp_undo_rollout 50001":            "it locks the job by the name that it has read",
	"jobs.sp_undo_rollout 50100":            "only if another session deletes the job meanwhile",
	"jobs_rest.set_job 50001":               "check_rest_job has refused an empty name and one that begins with a space",
	"jobs_rest.set_job 50172":               "only if another session deletes the job between the search for it and the lock on it",
	"jobs_rest.unsubscribe 50172":           "only if another session deletes the job between the search for it and the lock on it",
	"jobs_rest.update_job 50001":            "it gives check_rest_job no name, because a job is not renamed",
	"jobs_rest.update_job 50002":            "it gives check_rest_job no name, because a job is not renamed",
	"jobs_rest.update_job 50003":            "it gives check_rest_job no name, because a job is not renamed",
	"jobs_rest.update_job 50087":            "it gives check_rest_job no name, because a job is not renamed",
}

// TestEveryErrorHasAScript compares the scripts of testdata/procs with the sources of the control
// database. Some script must expect each error that the header of a procedure lists, and must use
// each procedure and view.
func TestEveryErrorHasAScript(t *testing.T) {
	var all []record
	paths, err := filepath.Glob("testdata/procs/*.txt")
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		s, err := Parse(string(text))
		require.NoError(t, err, path)
		all = append(all, s.records...)
	}
	objects, err := jobsql.DescribeAll()
	require.NoError(t, err)
	var missing []string
	for _, o := range objects {
		used := map[int]bool{} // by error number; 0 for success
		for _, r := range all {
			if !mentions(r.sql, o.Name) {
				continue
			}
			if len(r.errors) == 0 {
				used[0] = true
			}
			for _, number := range r.errors {
				used[int(number)] = true
			}
		}
		switch o.Kind {
		case jobsql.KindView:
			if !used[0] {
				missing = append(missing, o.Name+" is never read")
			}
		case jobsql.KindProcedure:
			// Tests of other procedures cover the procedures that only these call; tests of the
			// installation cover record_deployment.
			if strings.HasPrefix(o.Name, "jobs_internal.") && !strings.Contains(o.CalledBy, "agent/") {
				continue
			}
			if !used[0] {
				missing = append(missing, o.Name+" never succeeds")
			}
			for _, e := range o.Throws {
				number, err := strconv.Atoi(e.Name)
				require.NoError(t, err)
				if why := unreachable[o.Name+" "+e.Name]; why != "" {
					require.False(t, used[number], "%s throws %d after all; it was held to be unreachable: %s", o.Name, number, why)
				} else if !used[number] {
					missing = append(missing, fmt.Sprintf("%s never throws %d (%s)", o.Name, number, e.Text))
				}
			}
		}
	}
	require.Empty(t, missing, strings.Join(missing, "\n"))
}

// mentions reports whether SQL contains the whole name of an object.
func mentions(sql, name string) bool {
	for rest := sql; ; {
		_, after, ok := strings.Cut(rest, name)
		if !ok {
			return false
		}
		if after == "" || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz_", rune(after[0])) {
			return true
		}
		rest = after
	}
}
