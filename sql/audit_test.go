package sqlfs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unaudited are the public procedures that do not call jobs_internal.audit themselves, with the
// reason.
var unaudited = map[string]string{
	"jobs.sp_explain_execution":       "it only reads",
	"jobs.sp_get_overview":            "it only reads",
	"jobs.sp_get_failures":            "it only reads",
	"jobs.sp_get_recent_runs":         "it only reads",
	"jobs.sp_get_limits":              "it only reads",
	"jobs.sp_get_run":                 "it only reads",
	"jobs.sp_get_run_targets":         "it only reads",
	"jobs.sp_get_target_outcomes":     "it only reads",
	"jobs.sp_get_target_runs":         "it only reads",
	"jobs.sp_complete_callback":       "jobs_internal.store_report calls it, in the transaction of the report",
	"jobs.sp_retry_job_execution_now": "jobs_internal.change_retries has an entry for each slice, in its transaction",
	"jobs.sp_give_up_job_execution":   "the same",
	"jobs_rest.finish_request":        "it keeps an answer, and changes nothing that anybody defined",
	"jobs_rest.report_run":            "the sender is the application that a run called; jobs.callbacks shows its report",
	"jobs_rest.delete_job":            "jobs_internal.delete_rest_job calls jobs.sp_delete_job",
}

// reads matches the procedures of the SAP surface that only read.
var reads = regexp.MustCompile(`^jobs_rest\.(list|count|get|search)_`)

// TestPublicProceduresAreAudited: each public procedure writes an entry of the audit log under its
// own name as the last statement of a transaction, or calls a writer or a public procedure that
// does. What creates or replaces (sp_set_…) leaves the entry of an addition or a change.
func TestPublicProceduresAreAudited(t *testing.T) {
	objects, err := Objects()
	require.NoError(t, err)
	public := regexp.MustCompile(`\bEXECUTE jobs\.sp_\w+`)
	// Procedures of the SAP surface call it through log_rest_action.
	call := regexp.MustCompile(`EXECUTE jobs_internal\.audit\s+@action = N'([\w.]+)'|@procedure = N'([\w.]+)'`)
	texts := map[string]string{}
	for _, o := range objects {
		texts[o.Name] = o.Text
	}
	for _, o := range objects {
		if o.Kind != KindProcedure {
			continue
		}
		if m := writer.FindStringSubmatch(o.Text); m != nil {
			text := texts[m[1]]
			require.Contains(t, text, "EXECUTE jobs_internal.audit\n        @action = @action,", m[1])
			require.Contains(t, text, "BEGIN TRANSACTION", m[1])
			name := strings.TrimPrefix(o.Name, "jobs.")
			require.True(t, strings.Contains(text, "N'"+name+"'") || strings.HasPrefix(name, "sp_set_"), "%s: %s writes no entry under this name", o.File, m[1])
			continue
		}
		calls := call.FindAllStringSubmatch(o.Text, -1)
		if !strings.HasPrefix(o.Name, "jobs.sp_") && !strings.HasPrefix(o.Name, "jobs_rest.") || reads.MatchString(o.Name) {
			continue
		}
		for _, c := range calls {
			require.Equal(t, strings.TrimPrefix(o.Name, "jobs."), c[1]+c[2], "%s: @action is the name of the procedure", o.File)
		}
		if _, known := unaudited[o.Name]; known {
			require.Empty(t, calls, "%s has an entry now: remove it from the list", o.Name)
			continue
		}
		if len(calls) == 0 && !public.MatchString(o.Text) {
			t.Errorf("%s changes something without an entry in the audit log: see jobs_internal.audit", o.Name)
		}
		require.False(t, len(calls) > 0 && !strings.Contains(o.Text, "BEGIN TRANSACTION"), "%s: the entry is part of the transaction", o.Name)
	}
}

// TestCallersAreNamed: procedures record the caller, whom a REST front names, and not the login of
// the front.
func TestCallersAreNamed(t *testing.T) {
	objects, err := Objects()
	require.NoError(t, err)
	for _, o := range objects {
		if o.Kind.IsCode() && o.Name != "jobs_internal.current_caller" {
			require.NotContains(t, o.Text, "ORIGINAL_LOGIN", "%s: read short_name of jobs_internal.current_caller", o.File)
		}
	}
}
