package command

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// InWords returns an error of a procedure in the words of the command that called it: @parameters
// become flags and arguments, procedures and views become commands. What has no counterpart stays.
func InWords(cmd *cobra.Command, err error) error {
	text := Translate(cmd, err.Error())
	if text == err.Error() {
		return err
	}
	return &wordedError{text, err}
}

// wordedError is an error with another text.
type wordedError struct {
	text  string
	cause error
}

// Error implements error.
func (e *wordedError) Error() string { return e.text }

// Unwrap returns the error in the words of T-SQL.
func (e *wordedError) Unwrap() error { return e.cause }

var (
	viewSentence  = regexp.MustCompile(`[Tt]he view (jobs\.\w+) (?:lists|shows)`)
	procedureName = regexp.MustCompile(`\bjobs\.sp_\w+(?: @\w+(?: = [01]\b)?)?`)
	viewName      = regexp.MustCompile(`\bjobs\.[a-z_]+`)
	leftNull      = regexp.MustCompile(`leave (@\w+) NULL`)
	isNull        = regexp.MustCompile(`(@\w+(?: (?:or|and) @\w+)*) is NULL( or empty)?`)
	setTo         = regexp.MustCompile(`@(\w+) (?:= |of )([01])\b`)
	parameter     = regexp.MustCompile(`(^|[^'\w@$])@([a-z]\w*)`)
	// phrases are replaced before all else.
	phrases = strings.NewReplacer("schedule of jobs.sp_add_job", "schedule of the job's own definition",
		"@success of 1 or 0", "--succeeded or --failed")
	// literal matches the prefix of a T-SQL string.
	literal = regexp.MustCompile(`\bN'`)
	// runID matches a GUID as T-SQL writes it, unless it is quoted and so may be a name.
	runID = regexp.MustCompile(`[^'\w-][0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}\b`)
)

// Translate is [InWords] for a text.
func Translate(cmd *cobra.Command, text string) string {
	text = viewSentence.ReplaceAllStringFunc(text, func(s string) string {
		if c, ok := viewCommands[viewName.FindString(s)]; ok {
			return "jobagent " + c + " shows"
		}
		return s
	})
	text = phrases.Replace(text)
	text = procedureName.ReplaceAllStringFunc(text, func(s string) string {
		name, rest, _ := strings.Cut(s, " ")
		words, ok := procedureCommands[name]
		if !ok {
			return s
		}
		// What follows is a parameter of this procedure.
		if other, _, err := cmd.Root().Find(strings.Fields(words)); err == nil && rest != "" {
			rest = " " + nameParameters(other, rest)
		}
		return "jobagent " + words + rest
	})
	text = viewName.ReplaceAllStringFunc(text, func(s string) string {
		if c, ok := viewCommands[s]; ok {
			return "jobagent " + c
		}
		return s
	})
	text = leftNull.ReplaceAllString(text, "omit $1")
	text = isNull.ReplaceAllStringFunc(text, func(s string) string {
		m := isNull.FindStringSubmatch(s)
		if m[2] != "" {
			return m[1] + " is missing or empty"
		}
		return m[1] + " is missing"
	})
	text = runID.ReplaceAllStringFunc(text, strings.ToLower)
	return literal.ReplaceAllString(nameParameters(cmd, text), "'")
}

// nameParameters replaces parameters by the flags and arguments of a command.
func nameParameters(cmd *cobra.Command, text string) string {
	text = setTo.ReplaceAllStringFunc(text, func(s string) string {
		m := setTo.FindStringSubmatch(s)
		flag := nameParameter(cmd, m[1])
		if m[2] == "0" && strings.HasPrefix(flag, "--") {
			return flag + "=false"
		}
		return flag
	})
	return parameter.ReplaceAllStringFunc(text, func(s string) string {
		m := parameter.FindStringSubmatch(s)
		return m[1] + nameParameter(cmd, m[2])
	})
}

// nameParameter returns the flag or the argument of a command that gives a parameter; else its name
// in plain words.
func nameParameter(cmd *cobra.Command, name string) string {
	dashed := strings.ReplaceAll(name, "_", "-")
	candidates := slices.Clone(parameterNames[name])
	for _, suffix := range []string{"", "-name", "-seconds", "-type", "-id"} {
		if short, ok := strings.CutSuffix(dashed, suffix); ok {
			candidates = append(candidates, "--"+short)
		}
	}
	found := ""
	for _, c := range candidates {
		flag, isFlag := strings.CutPrefix(c, "--")
		if !isFlag {
			if slices.Contains(argumentsOf(cmd), c) && found == "" {
				found = c
			}
			continue
		}
		f := visibleFlag(cmd, flag)
		switch {
		case f == nil:
		case f.Changed: // of several flags for one parameter, the one that was given
			return "--" + f.Name
		case found == "":
			found = "--" + f.Name
		}
	}
	if found != "" {
		return found
	}
	if group := cmd.Parent(); group != nil { // a property that another command of the group sets
		for _, other := range group.Commands() {
			if visibleFlag(other, dashed) != nil {
				return "--" + dashed
			}
		}
	}
	return strings.ReplaceAll(name, "_", " ")
}

// visibleFlag returns a flag of the command itself, unless it is hidden and was not given.
func visibleFlag(cmd *cobra.Command, name string) *pflag.Flag {
	f := cmd.LocalNonPersistentFlags().Lookup(name)
	if f == nil || f.Hidden && !f.Changed {
		return nil
	}
	return f
}

// argumentsOf returns the names of a command's arguments, from its usage line.
func argumentsOf(cmd *cobra.Command) []string {
	_, usage, _ := strings.Cut(cmd.Use, " ")
	return strings.FieldsFunc(usage, func(r rune) bool { return strings.ContainsRune(" []|.…", r) })
}

// parameterNames maps parameters to flags and arguments with other names; the first one that the
// command has applies.
var parameterNames = map[string][]string{
	"agent_name":                        {"ACCOUNT", "NAME"},
	"alert_name":                        {"RULE", "ALERT", "NAME", "--alert"},
	"calendar_name":                     {"CALENDAR", "NAME"},
	"channel_name":                      {"CHANNEL", "NAME"},
	"channel_type":                      {"TYPE"},
	"channels":                          {"--channel"},
	"command":                           {"--command", "--file", "--command-file", "--http", "--storage-queue", "--service-bus-queue", "--service-bus-topic", "--process"},
	"condition":                         {"CONDITION"},
	"definition":                        {"DEFINITION", "--definition"},
	"job_execution_id":                  {"--execution-id", "EXECUTION_ID"},
	"job_id":                            {"JOB_ID"},
	"job_name":                          {"JOB", "--job", "NAME"},
	"job_pattern":                       {"--jobs"},
	"key_id":                            {"--retire"},
	"max_concurrent_targets":            {"MAX"},
	"minutes":                           {"--for"},
	"name":                              {"SECRET", "NAME"},
	"new_id":                            {"--new-id"},
	"new_job_execution_id":              {"--execution-id"},
	"on_targets":                        {"--on-targets"},
	"oldest_date":                       {"--before"},
	"parameters":                        {"--param", "--param-json", "--params-file"},
	"percent_failed":                    {"--percent"},
	"retry_interval_backoff_multiplier": {"--retry-interval-multiplier"},
	"schedule_end_time":                 {"--end-time"},
	"schedule_interval_count":           {"--interval-count"},
	"schedule_interval_type":            {"--interval-type"},
	"schedule_name":                     {"SCHEDULE", "NAME"},
	"schedule_start_time":               {"--start-time"},
	"scope":                             {"SCOPE"},
	"server_name":                       {"--server"},
	"spec":                              {"--file", "--cron5", "--cron6", "--quartz", "--rrule", "--systemd", "--eventbridge", "--groc", "--airflow", "--iso8601"},
	"step_name":                         {"STEP", "--step-name", "--name", "--new-name"},
	"step_timeout_seconds":              {"--timeout"},
	"success":                           {"--succeeded"},
	"only_targets":                      {"--only-targets", "--targets"},
	"tags":                              {"--tag"},
	"target_group_name":                 {"TARGET_GROUP", "GROUP", "--target-group", "NAME"},
	"target_id":                         {"TARGET_ID", "--target"},
	"time_zone":                         {"--zone", "--time-zone"},
	"until":                             {"--for"},
}

// procedureCommands maps procedures to commands.
var procedureCommands = map[string]string{
	"jobs.sp_acknowledge_alert":          "alert ack",
	"jobs.sp_add_alert":                  "alert rule add",
	"jobs.sp_add_alert_channel":          "alert channel add",
	"jobs.sp_add_calendar":               "calendar add",
	"jobs.sp_add_job":                    "job create",
	"jobs.sp_add_jobstep":                "step add",
	"jobs.sp_add_schedule":               "schedule add",
	"jobs.sp_add_secret_key":             "key generate",
	"jobs.sp_add_target_group":           "target-group create",
	"jobs.sp_add_target_group_member":    "target-group add",
	"jobs.sp_backfill_schedule":          "schedule backfill",
	"jobs.sp_cancel_backfill":            "schedule cancel-backfill",
	"jobs.sp_complete_callback":          "execution complete",
	"jobs.sp_delete_alert":               "alert rule delete",
	"jobs.sp_give_up_job_execution":      "execution give-up",
	"jobs.sp_retry_job_execution_now":    "execution retry-now",
	"jobs.sp_delete_alert_channel":       "alert channel delete",
	"jobs.sp_delete_calendar":            "calendar delete",
	"jobs.sp_delete_job":                 "job delete",
	"jobs.sp_delete_job_agent":           "account delete",
	"jobs.sp_delete_jobstep":             "step delete",
	"jobs.sp_delete_schedule":            "schedule delete",
	"jobs.sp_delete_secret":              "secret delete",
	"jobs.sp_delete_target_group":        "target-group delete",
	"jobs.sp_delete_target_group_member": "target-group remove",
	"jobs.sp_disable_job_agent":          "account disable",
	"jobs.sp_enable_job_agent":           "account enable",
	"jobs.sp_enable_schedule":            "schedule enable",
	"jobs.sp_explain_execution":          "execution explain",
	"jobs.sp_mute_alert":                 "alert mute",
	"jobs.sp_pause_schedule":             "schedule pause",
	"jobs.sp_after_restore":              "db after-restore",
	"jobs.sp_pause_control_database":     "db pause",
	"jobs.sp_resume_control_database":    "db resume",
	"jobs.sp_purge_jobhistory":           "history purge",
	"jobs.sp_rerun_job_execution":        "execution rerun",
	"jobs.sp_retire_secret_key":          "key rotate",
	"jobs.sp_set_job_agent":              "account create",
	"jobs.sp_set_jobstep_options":        "step options",
	"jobs.sp_set_limit":                  "limit set",
	"jobs.sp_set_secret":                 "secret set",
	"jobs.sp_start_job":                  "job start",
	"jobs.sp_stop_job":                   "job stop",
	"jobs.sp_test_alert":                 "alert test",
	"jobs.sp_update_alert":               "alert rule update",
	"jobs.sp_update_alert_channel":       "alert channel update",
	"jobs.sp_update_calendar":            "calendar update",
	"jobs.sp_update_job":                 "job update",
	"jobs.sp_update_jobstep":             "step update",
	"jobs.sp_update_schedule":            "schedule update",
}

// viewCommands maps views to the commands that show them.
var viewCommands = map[string]string{
	"jobs.agent":                "account list",
	"jobs.alert_channels":       "alert channel list",
	"jobs.alert_rules":          "alert rule list",
	"jobs.alerts":               "alert history",
	"jobs.audit_log":            "audit list",
	"jobs.calendars":            "calendar list",
	"jobs.callbacks":            "execution callbacks",
	"jobs.job_executions":       "execution list",
	"jobs.jobs":                 "job list",
	"jobs.jobsteps":             "step show",
	"jobs.limits":               "limit list",
	"jobs.schedule_backfills":   "schedule show",
	"jobs.schedules":            "schedule list",
	"jobs.secret_keys":          "key list",
	"jobs.secrets":              "secret list",
	"jobs.target_group_members": "target-group show",
	"jobs.target_groups":        "target-group list",
}

// ProcedureCommands returns the commands of procedures, for a test that walks sql/procs.
func ProcedureCommands() map[string]string { return procedureCommands }

// ViewCommands returns the commands of views, for a test that walks sql/views.
func ViewCommands() map[string]string { return viewCommands }
