package controldb_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/access"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/scheduler"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs/secret"
	sqlfs "github.com/jobagent/jobagent/sql"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// audited is a call of a public procedure and its entries in the audit log: action, kind, name, and
// B and A where there is a state before and after, with one line for each entry.
type audited struct {
	procedure, call, entries string
	// do replaces call, for arguments that are not constant.
	do func(ctx context.Context) error
}

// auditedCalls are the calls in their order; each builds on those before it.
func auditedCalls(t *testing.T, c *control, key secret.PrivateKey) []audited {
	seal := func(p secret.Place) string {
		text, err := secrets.On(c.Store).Seal(t.Context(), p, canary)
		require.NoError(t, err)
		return text
	}
	id := uuid.NewString()
	return []audited{
		{"sp_add_secret_key", "", "sp_add_secret_key|SecretKey||A", func(ctx context.Context) error { return secrets.On(c.Store).AddKey(ctx, key.Public()) }},
		{"sp_add_target_group", `N'g'`, "sp_add_target_group|TargetGroup|g|A", nil},
		{"sp_add_target_group_member", `N'g', @target_type = N'SqlServer', @server_name = N's'`, "sp_add_target_group_member|TargetGroupMember|g|A", nil},
		{"sp_set_target_group", `N'h', N'[{"target_type": "SqlServer", "server_name": "s"}]'`, "sp_add_target_group|TargetGroup|h|A\nsp_set_target_group|TargetGroup|h|BA", nil},
		{"sp_set_target_tags", `N's', N'd', N'{"tier": "gold"}'`, "sp_set_target_tags|Target|s/d|A", nil},
		{"sp_pause_target", `N's', N'd', N'why'`, "sp_pause_target|Target|s/d|A", nil},
		{"sp_resume_target", `N's', N'd'`, "sp_resume_target|Target|s/d|B", nil},
		{"sp_add_job", `N'j'`, "sp_add_job|Job|j|A", nil},
		{"sp_update_job", `N'j', @description = N'd'`, "sp_update_job|Job|j|BA", nil},
		{"sp_set_job", `N'i'`, "sp_add_job|Job|i|A", nil},
		{"sp_set_job_parameters", `N'i', N'[{"name": "tenant"}]'`, "sp_set_job_parameters|Job|i|BA", nil},
		{"sp_set_job_rollout", `N'i', N'{"waves": [{"name": "all", "targets": "rest"}]}'`, "sp_set_job_rollout|Job|i|BA", nil},
		{"sp_add_jobstep", `N'j', @command = N'SELECT 1', @target_group_name = N'g'`, "sp_add_jobstep|JobStep|JobStep|A", nil},
		{"sp_update_jobstep", `N'j', @step_id = 1, @new_name = N's'`, "sp_update_jobstep|JobStep|s|BA", nil},
		{"sp_set_jobstep", `N'j', N's2', @command = N'SELECT 2', @target_group_name = N'g'`, "sp_add_jobstep|JobStep|s2|A", nil},
		{"sp_set_jobstep_options", `N'j', @step_id = 2, @at_most_once = 1`, "sp_set_jobstep_options|JobStep|s2|BA", nil},
		{"sp_delete_jobstep", `N'j', 2`, "sp_delete_jobstep|JobStep|s2|B", nil},
		{"sp_set_limit", `N'Job', N'j', NULL, 5`, "sp_set_limit|Limit|Job j|A", nil},
		{"sp_set_setting", `N'unreachable_days', 7`, "sp_set_setting|Setting|unreachable_days|A", nil},
		{"sp_add_calendar", `N'c', N'{"dates": ["2030-12-24"]}'`, "sp_add_calendar|Calendar|c|A", nil},
		{"sp_update_calendar", `N'c', N'{"dates": ["2030-12-25"]}'`, "sp_update_calendar|Calendar|c|BA", nil},
		{"sp_delete_calendar", `N'c'`, "sp_delete_calendar|Calendar|c|B", nil},
		{"sp_add_schedule", `N'j', N's', N'cron5', N'0 0 1 1 *', @parameters = N'{"p": "` + canary + `"}'`, "sp_add_schedule|Schedule|s|A", nil},
		{"sp_update_schedule", `N'j', N's', @overlap = N'AllowAll'`, "sp_update_schedule|Schedule|s|BA", nil},
		{"sp_update_schedule", `N'j', N'', @parameters = N'{"p": "` + canary + `"}'`, "sp_update_schedule|Schedule||BA", nil},
		{"sp_enable_schedule", `N'j', N's', 0`, "sp_enable_schedule|Schedule|s|BA", nil},
		{"sp_pause_schedule", `N'j', N's', 1, N'why'`, "sp_pause_schedule|Schedule|s|BA", nil},
		{"sp_backfill_schedule", `N'j', N's', '2020-01-01', '2020-01-02'`, "sp_backfill_schedule|Backfill|s|A", nil},
		{"sp_cancel_backfill", `1`, "sp_cancel_backfill|Backfill|s|BA", nil},
		{"sp_delete_schedule", `N'j', N's'`, "sp_delete_schedule|Schedule|s|B", nil},
		{"sp_add_job_trigger", `N'i', N't', N'["j"]'`, "sp_add_job_trigger|Trigger|t|A", nil},
		{"sp_update_job_trigger", `N'i', N't', @run_when = N'Failed'`, "sp_update_job_trigger|Trigger|t|BA", nil},
		{"sp_delete_job_trigger", `N'i', N't'`, "sp_delete_job_trigger|Trigger|t|B", nil},
		{"sp_set_drift_baseline", "", "sp_set_drift_baseline|DriftBaseline|v1|A", func(ctx context.Context) error {
			c.exec(t, `INSERT INTO jobs_internal.drift_states (target_id, options, first_seen_at, last_seen_at, fingerprint, server_name, database_name)
VALUES (@p1, N'', '2026-01-01', '2026-01-01', 0x01, N's', N'd');`, targets.TargetID("s", "d"))
			c.exec(t, `EXECUTE jobs.sp_set_drift_baseline N'v1', N's', N'd';`)
			return nil
		}},
		{"sp_delete_drift_baseline", `N'v1'`, "sp_delete_drift_baseline|DriftBaseline|v1|B", nil},
		{"sp_ask_question", "", "sp_ask_question|Question|g|A", func(ctx context.Context) error {
			c.exec(t, `INSERT INTO jobs_internal.settings (name, value) VALUES (N'questions', N'1');`)
			c.exec(t, `EXECUTE jobs.sp_ask_question N'g', N'sp_who';`)
			return nil
		}},
		{"sp_cancel_question", "1", "sp_cancel_question|Question|g|", nil},
		{"sp_start_job", `N'j', '` + id + `', N'{"p": "` + canary + `"}'`, "sp_start_job|JobExecution||A", nil},
		{"sp_stop_job", `'` + id + `'`, "sp_stop_job|JobExecution||A", nil},
		{"sp_retry_job_execution_now", "", "sp_retry_job_execution_now|JobExecution||A", func(ctx context.Context) error {
			// The run waits for another resolution of its target group.
			c.exec(t, `INSERT INTO jobs_internal.step_executions (execution_id, job_id, job_version, step_id, lifecycle, is_active, create_time, next_attempt_at, attempts)
SELECT e.execution_id, e.job_id, e.job_version, 1, N'WaitingForRetry', 1, SYSUTCDATETIME(), '9999-01-01', 1
FROM jobs_internal.job_executions AS e
WHERE e.job_execution_id = @p1;
UPDATE jobs_internal.job_executions SET stop_requested_at = NULL, stop_requested_by = NULL WHERE job_execution_id = @p1;`, id)
			c.exec(t, `EXECUTE jobs.sp_retry_job_execution_now @p1;`, id)
			return nil
		}},
		{"sp_give_up_job_execution", "", "sp_give_up_job_execution|JobExecution||A", func(ctx context.Context) error {
			c.exec(t, `EXECUTE jobs.sp_give_up_job_execution @p1;`, id)
			return nil
		}},
		{"sp_rerun_job_execution", "", "sp_rerun_job_execution|JobExecution||A", func(ctx context.Context) error {
			// What agents would have done.
			c.exec(t, `UPDATE jobs_internal.job_executions SET lifecycle = N'Canceled', is_active = 0, end_time = SYSUTCDATETIME() WHERE job_execution_id = @p1;`, id)
			c.exec(t, `EXECUTE jobs.sp_rerun_job_execution @p1;`, id)
			return nil
		}},
		{"sp_purge_jobhistory", `N'j'`, "sp_purge_jobhistory|Job|j|A", nil},
		{"sp_delete_job", `N'i'`, "sp_delete_job|Job|i|B", nil},
		{"sp_set_secret", "", "sp_set_secret|Secret|api|A", func(ctx context.Context) error {
			c.exec(t, `EXECUTE jobs.sp_set_secret N'api', @p1;`, seal(secret.Place{Name: "api", Version: 1}))
			return nil
		}},
		{"sp_delete_secret", `N'api'`, "sp_delete_secret|Secret|api|B", nil},
		{"sp_set_credential", "", "sp_set_credential|Credential|k|A", func(ctx context.Context) error {
			_, err := access.On(c.Store).SetCredential(ctx, "k", "u", seal(secret.Place{Owner: secret.OwnerCredential, Name: "k", Version: 1}), nil)
			return err
		}},
		{"sp_delete_credential", `N'k'`, "sp_delete_credential|Credential|k|B", nil},
		{"sp_set_private_endpoint", `N'p', N'/subscriptions/x'`, "sp_set_private_endpoint|PrivateEndpoint|p|A", nil},
		{"sp_delete_private_endpoint", `N'p'`, "sp_delete_private_endpoint|PrivateEndpoint|p|B", nil},
		{"sp_retire_secret_key", "", "sp_retire_secret_key|SecretKey||BA", func(ctx context.Context) error { return secrets.On(c.Store).RetireKey(ctx, key.Public().ID()) }},
		{"sp_set_job_collection", `N'jc'`, "sp_set_job_collection|JobCollection|jc|A", nil},
		{"sp_set_scheduler_job", "", "sp_set_scheduler_job|Job|jc/w|A", func(ctx context.Context) error {
			_, err := scheduler.On(c.Store).SetJob(ctx, schedulerJob("w"))
			return err
		}},
		{"sp_enable_scheduler_job", `N'jc', N'w', 0`, "sp_enable_scheduler_job|Job|jc/w|BA", nil},
		{"sp_run_scheduler_job", `N'jc', N'w'`, "sp_run_scheduler_job|JobExecution|jc/w|", nil},
		{"sp_delete_scheduler_job", `N'jc', N'w'`, "sp_delete_scheduler_job|Job|jc/w|B", nil},
		{"sp_enable_job_collection", `N'jc', 0`, "sp_enable_job_collection|JobCollection|jc|BA", nil},
		{"sp_delete_job_collection", `N'jc'`, "sp_delete_job_collection|JobCollection|jc|B", nil},
		{"sp_delete_target_group_member", "", "sp_delete_target_group_member|TargetGroupMember|h|B", func(ctx context.Context) error {
			c.exec(t, `DECLARE @id UNIQUEIDENTIFIER = (SELECT m.target_id FROM jobs.target_group_members AS m WHERE m.target_group_name = N'h');
EXECUTE jobs.sp_delete_target_group_member N'h', @id;`)
			return nil
		}},
		{"sp_delete_target_group", `N'h'`, "sp_delete_target_group|TargetGroup|h|B", nil},
		{"sp_complete_callback", "", "sp_complete_callback|Callback||A", func(ctx context.Context) error {
			c.exec(t, `EXECUTE jobs.sp_delete_job N'j', 1;`)
			c.httpJob(t, "j", nil)
			run, _ := c.waits(t, c.actionTerm(t))
			c.exec(t, `EXECUTE jobs.sp_complete_callback @p1, 1, N'`+canary+`';`, run.String())
			return nil
		}},
		{"sp_add_alert_channel", `N'ac', N'Http', N'{"url":"https://h/"}'`, "sp_add_alert_channel|AlertChannel|ac|A", nil},
		{"sp_update_alert_channel", `N'ac', @enabled = 0`, "sp_update_alert_channel|AlertChannel|ac|BA", nil},
		{"sp_add_alert", `N'ar', N'NoAgent', @channels = N'["ac"]'`, "sp_add_alert|AlertRule|ar|A", nil},
		{"sp_update_alert", `N'ar', @channels = N'[]'`, "sp_update_alert|AlertRule|ar|BA", nil},
		{"sp_mute_alert", `N'ar', @minutes = 5`, "sp_mute_alert|AlertRule|ar|BA", nil},
		{"sp_test_alert", `N'ac'`, "sp_test_alert|AlertChannel|ac|A", nil},
		{"sp_delete_alert", `N'ar'`, "sp_delete_alert|AlertRule|ar|B", nil},
		{"sp_delete_alert_channel", `N'ac'`, "sp_delete_alert_channel|AlertChannel|ac|B", nil},
		{"sp_acknowledge_alert", "", "sp_acknowledge_alert|Alert|r: s|BA", func(ctx context.Context) error {
			c.exec(t, `INSERT INTO jobs_internal.alerts (rule_id, rule_name, condition, severity, subject_key, subject_kind, subject,
    event_key, state, occurrences, first_at, last_at, raised_at, title, message, notifications)
VALUES (1, N'r', N'NoAgent', N'Warning', N'control', N'ControlDatabase', N's', N'', N'Open', 1, '2026-01-01', '2026-01-01', '2026-01-01', N't', N'm', 0);`)
			return alerting.On(c.Store).Acknowledge(ctx, get[int64](t, c, `SELECT MAX(alert_id) FROM jobs.alerts;`), "mine")
		}},
		{"sp_set_job_agent", `N'a'`, "sp_set_job_agent|JobAgent|a|A", nil},
		{"sp_disable_job_agent", "", "sp_disable_job_agent|JobAgent|a|BA", func(ctx context.Context) error {
			c.exec(t, `UPDATE jobs_internal.job_agent SET state = N'Ready', operation_id = NULL; DELETE FROM jobs_internal.job_agent_operations;`)
			return account.On(c.Store).Disable(ctx, "r")
		}},
		{"sp_enable_job_agent", "", "sp_enable_job_agent|JobAgent|a|BA", account.On(c.Store).Enable},
		{"sp_delete_job_agent", `N'a'`, "sp_delete_job_agent|JobAgent|a|B", nil},
		{"sp_pause_control_database", `N'r'`, "sp_pause_control_database|ControlDatabase||BA", nil},
		{"sp_after_restore", "", "sp_after_restore|ControlDatabase||BA", nil},
		{"sp_resume_control_database", "", "sp_resume_control_database|ControlDatabase||BA", nil},
	}
}

// canary is in passwords, parameters and messages, and must not get into the audit log.
const canary = "hunter2-of-the-audit-log"

// TestAuditOfEveryProcedure: each public procedure that changes something leaves its entry, and no
// secret is in any. The entry of a procedure that is not in auditedCalls is expected by a script of
// testenv/script, as a row of jobs.audit_log that begins with the action.
func TestAuditOfEveryProcedure(t *testing.T) {
	testenv.Long(t)
	objects, err := sqlfs.DescribeAll()
	require.NoError(t, err)
	paths, err := filepath.Glob("../testenv/script/testdata/procs/*.txt")
	require.NoError(t, err)
	var scripts strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		scripts.Write(text)
	}
	each(t, func(t *testing.T, c *control) {
		called := map[string]bool{}
		for _, a := range auditedCalls(t, c, newSecretKey(t)) {
			called[a.procedure] = true
			last := get[int64](t, c, `SELECT COALESCE(MAX(entry_id), 0) FROM jobs.audit_log;`)
			if a.do == nil {
				c.exec(t, "EXECUTE jobs."+a.procedure+" "+a.call+";")
			} else {
				require.NoError(t, a.do(t.Context()), a.procedure)
			}
			got := c.rows(t, `SELECT CONCAT(action, N'|', object_kind, N'|', object_name, N'|', CASE WHEN before_change IS NOT NULL THEN N'B' END,
    CASE WHEN after_change IS NOT NULL THEN N'A' END)
FROM jobs.audit_log
WHERE entry_id > @p1
ORDER BY entry_id;`, last)
			want := strings.Split(a.entries, "\n")
			if len(got) > len(want) && a.procedure == "sp_complete_callback" {
				got = got[len(got)-1:] // the others prepare the callback
			}
			require.Equal(t, want, got, "%s %s", a.procedure, a.call)
		}
		for _, o := range objects {
			name, public := strings.CutPrefix(o.Name, "jobs.")
			if !public || o.Kind != sqlfs.KindProcedure || o.CalledBy == "members of the role jobs_reader." || called[name] {
				continue
			}
			require.True(t, strings.Contains(scripts.String(), "\n"+name+" | "), "no script expects the entry of %s in jobs.audit_log", o.Name)
		}
		text := fmt.Sprint(c.rows(t, `SELECT * FROM jobs_internal.audit_entries;`))
		require.NotContains(t, text, canary)
		require.NotContains(t, text, "SELECT 1", "commands are hashes")
		require.Zero(t, get[int](t, c, `SELECT COUNT(*)
FROM jobs_internal.audit_entries AS a
WHERE ISJSON(COALESCE(a.before_change, N'{}')) = 0 OR ISJSON(COALESCE(a.after_change, N'{}')) = 0;`))
	})
}
