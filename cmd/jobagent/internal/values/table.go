package values

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/naming"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Values of enumerations, in the spelling of the control database.
var (
	lifecycles     = spelled(jobs.Lifecycles())
	finalStates    = []string{"Failed", "TimedOut", "Canceled", "Skipped", "Unknown", "Succeeded"}
	severities     = []string{"Info", "Warning", "Critical"}
	scheduleStates = []string{"Enabled", "Disabled", "Completed", "Faulted"}
	targetStates   = []string{"Pending", "Succeeded", "Failed", "Unknown", "Unreached", "LeftOut"} // of roll-outs
	restRoles      = []string{"reader", "operator", "author", "admin"}
	channelTypes   = action.ChannelTypes()
	conditions     = spelled(model.AlertConditions())
	catchUps       = []string{"last", "none", "all", "window:1h", "sap-20min"}
	methods        = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
)

// spelled converts the values of an enumeration.
func spelled[T ~string](list []T) (words []string) {
	for _, v := range list {
		words = append(words, string(v))
	}
	return words
}

// Kinds that several arguments and flags have.
var (
	job       = Kind{Words: "the name of a job", Hint: "jobagent job list shows all jobs", Max: maxName, source: names(naming.OfJobs), named: true}
	group     = Kind{Words: "the name of a target group", Hint: "jobagent target-group list shows all groups", Max: maxName, source: names(naming.OfTargetGroups), named: true}
	step      = Kind{Words: "the name of a step", Hint: "jobagent step list JOB shows the steps of a job", Max: maxName, source: names(naming.OfSteps), named: true}
	timetable = Kind{Words: "the name of a schedule", Hint: "jobagent schedule list shows all schedules", Max: maxName, source: names(naming.OfSchedules), named: true}
	calendar  = Kind{Words: "the name of a calendar", Hint: "jobagent calendar list shows all calendars", Max: maxName, source: names(naming.OfCalendars), named: true}
	secret    = Kind{Words: "the name of a secret", Hint: "jobagent secret list shows all secrets", Max: maxName, source: names(naming.OfSecrets), named: true}
	rule      = Kind{Words: "the name of a rule", Hint: "jobagent alert rule list shows all rules", Max: maxName, source: names(naming.OfAlertRules), named: true}
	channel   = Kind{Words: "the name of a channel", Hint: "jobagent alert channel list shows all channels", Max: maxName, source: names(naming.OfAlertChannels), named: true}
	account   = Kind{Words: "the name of an account", Hint: "jobagent account list shows all accounts", Max: maxName, source: names(naming.OfAccounts), named: true}
	execution = Kind{
		Words: "the execution ID of a run", Hint: "jobagent execution list shows the latest runs", Max: 40, Form: isExecution,
		source: names(naming.OfExecutions), run: true,
	}
	rollout = Kind{
		Words: "the ID of a roll-out", Hint: "jobagent rollout list shows the latest roll-outs", Max: 40, Form: isRollout,
		source: names(naming.OfRollouts), run: true,
	}
	wave = Kind{Words: "the name of a wave", Hint: "jobagent rollout show shows the waves", Max: maxName, source: waves}
	// jobOrRun is not resolved here: the name of a job may have the form of an ID.
	jobOrRun     = Kind{Words: "the name of a job, or the execution ID of a run", Hint: "jobagent execution list --active shows the runs that have not ended", Max: maxName, source: both(names(naming.OfJobs), names(naming.OfActiveExecutions)), named: true}
	credential   = Kind{Words: "the name of a credential", Max: maxName, source: both(configured, names(naming.OfCredentials))}
	server       = Kind{Words: "the name of a server", Max: maxServer, source: nothing}
	database     = Kind{Words: "the name of a database", Max: maxName, source: nothing}
	place        = Kind{Words: "SERVER/DATABASE, the server of an endpoint, or a GUID", Max: maxServer + 1 + maxName, source: nothing}
	databases    = Kind{Words: "databases, separated by commas, or @FILE, or - for standard input", source: nothing}
	file         = Kind{Words: "a file, or - for standard input", Max: maxWord, Files: true}
	guid         = Kind{Words: "a GUID", Max: 40, Form: isGUID, source: nothing}
	number       = Kind{Words: "a number", Max: 20, source: nothing}
	instant      = Kind{Words: "a time such as 2026-01-31T22:00:00Z, 2026-01-31 22:00 or 2026-01-31", Max: 64, source: nothing}
	span         = Kind{Words: "a duration such as 90s, 15m, 24h or 7d, or a number of seconds", Max: 64, source: nothing}
	period       = Kind{Words: "a duration such as 15m, 24h or 7d", Max: 64, source: nothing}
	zone         = Kind{Words: "the name of a time zone, such as Europe/Berlin", Hint: "jobagent schedule zones shows all zones", Max: maxName, source: zones}
	reference    = Kind{Words: "env:NAME or file:PATH", Max: maxWord, source: words("env:", "file:")}
	aContext     = Kind{Words: "the name of a context", Hint: "jobagent context list shows all contexts", Max: maxContext, source: contextNames}
	note         = Kind{Words: "a text", Max: maxNote, Empty: true, source: nothing}
	free         = Kind{Words: "a text", Empty: true, source: nothing}
	word         = Kind{Words: "a value", Max: maxWord, source: nothing}
	runParameter = Kind{Words: "NAME=VALUE", source: declared}
	parameter    = Kind{Words: "NAME=VALUE", source: nothing}
)

// enum is the kind of an enumeration.
func enum(list ...string) Kind { return Kind{Words: wording.Or(list), Enum: list, Max: maxWord} }

// several is the kind of a list of an enumeration's values, separated by commas.
func several(list ...string) Kind {
	k := enum(list...)
	k.Separator = ","
	return k
}

// loose is an enumeration whose values the command itself checks.
func loose(list ...string) Kind {
	k := enum(list...)
	k.Loose = true
	return k
}

// removable is a kind that also accepts the empty text, which removes the value or stands for none.
func removable(k Kind) Kind {
	k.Empty = true
	return k
}

// newName is the kind of the name of an object that is created or renamed.
func newName(what string) Kind {
	return Kind{Words: "a name for " + what, Max: maxName, New: true, source: nothing}
}

// argumentKinds are the kinds of arguments, by their words in usage lines.
var argumentKinds = map[string]Kind{
	"JOB": job, "GROUP": group, "SCHEDULE": timetable, "CALENDAR": calendar, "SECRET": secret, "RULE": rule, "CHANNEL": channel,
	"ACCOUNT": account, "EXECUTION_ID": execution, "ROLLOUT_ID": rollout, "SERVER/DATABASE": place, "DURATION": period, "STEP": step, "PARAMETER": {Words: "the name of a parameter", Max: maxName, source: declaredNames},
	"JOB|EXECUTION_ID": jobOrRun, "JOB|JOB_ID": job,
	"TARGET_ID":      {Words: "the target ID of a member", Hint: "jobagent target-group show GROUP lists the IDs", Max: 40, Form: isGUID, source: names(naming.OfMembers)},
	"ALERT_ID":       {Words: "the ID of an alert", Hint: "jobagent alert list shows the open alerts", Max: 20, source: names(naming.OfAlerts)},
	"BACKFILL_ID":    {Words: "the ID of a backfill", Hint: "jobagent schedule show JOB SCHEDULE lists its backfills", Max: 20, source: names(naming.OfBackfills)},
	"TOKEN":          {Words: "the name of a token", Hint: "jobagent token list shows all tokens", Max: maxServer, source: nothing},
	"TOKEN|TOKEN_ID": {Words: "the name or ID of a token", Hint: "jobagent token list shows all tokens", Max: maxServer, source: nothing},
	"CONDITION":      enum(conditions...),
	"TYPE":           enum(channelTypes...),
	"DEFINITION":     {Words: "a JSON object, or @FILE", source: nothing},
	"SCOPE":          enum(model.LimitScopes()...),
	"NAME":           {Words: "the name of what is limited, or '*'", Max: maxServer, source: limited, named: true},
	"MAX":            number,
	"FILE":           file, "FILE|-": file,
	"INSTANCE":       {Words: "the ID of an instance", Max: maxServer, source: nothing},
	"URL|--ARG":      {Words: "a URL, or arguments behind --", Empty: true, source: nothing},
	"URL":            word,
	"DIRECTORY":      {Words: "a directory", Max: maxWord, Folder: true},
	"DIR|FILE":       {Words: "a directory or a file", Max: maxWord, Files: true},
	"DIR|FILE|-":     {Words: "a directory or a file, or - for standard input", Max: maxWord, Files: true},
	"SERVER":         server,
	"DATABASE":       database,
	"NAME=VALUE":     parameter,
	"TOPIC":          word,
	"CONTEXT":        aContext,
	"NEW_NAME":       {Words: "a new name", Max: maxContext, New: true, source: nothing},
	"SQL":            {Words: "a question in T-SQL, or - for standard input", source: nothing},
	"FILTER":         {Words: "a part of a zone's name, an offset such as +01:00, or an abbreviation such as CET", Max: maxName, source: zones},
	"COMMAND":        {Words: "the words of a command", source: commands, Empty: true},
	"KIT_DEFINITION": {Words: "the name of a definition of the kit", Hint: "jobagent kit list shows all definitions", Max: maxName, source: kitDefinitions},
	"TRIGGER":        {Words: "the name of a trigger", Hint: "jobagent job trigger list shows all triggers", Max: maxName, source: names(naming.OfTriggers), named: true},
	"WINDOW":         newName("the window of databases"),
	"BASELINE":       newName("the baseline of schemas"),
	"QUESTION_ID":    {Words: "the ID of a question", Hint: "jobagent question list shows the questions", Max: 20, source: names(naming.OfQuestions)},
	"SETTING":        {Words: "the name of a setting", Hint: "jobagent setting list shows all settings", Max: maxName, source: names(naming.OfSettings), named: true},
	"VALUE":          number,
}

// ownArguments are the kinds of arguments of single commands.
var ownArguments = map[string]Kind{
	"schedule update SCHEDULE":    removable(timetable), // empty: the schedule of the job's own definition
	"context add CONTEXT":         {Words: "a name for the new context", Max: maxContext, New: true, source: nothing},
	"job create JOB":              newName("the new job"),
	"job parameter set PARAMETER": newName("the parameter"),
	"job trigger add TRIGGER":     newName("the new trigger"),
	"target-group create GROUP":   newName("the new target group"),
	"schedule add SCHEDULE":       newName("the new schedule"),
	"calendar add CALENDAR":       newName("the new calendar"),
	"alert rule add RULE":         newName("the new rule"),
	"alert channel add CHANNEL":   newName("the new channel"),
	"account create ACCOUNT":      newName("the new account"),
	"token create TOKEN":          newName("the new token"),
	"drift export FILE":           {Words: "a file for the schema", Max: maxWord, Files: true},
	"key generate FILE":           {Words: "a file for the new key", Max: maxWord, Files: true},
	"schedule explain JOB":        {Words: "the name of a job", Hint: job.Hint, Max: maxName, source: names(naming.OfJobs), named: true},
	"db describe NAME":            {Words: "the name of an object, such as jobs.sp_add_job", Max: maxServer, source: nothing},
}

// flagKinds are the kinds of flags whose values are texts.
var flagKinds = map[string]Kind{
	// The connection, and what is printed.
	"dsn":       {Words: "a connection string, or env:NAME or file:PATH of one", source: words("env:", "file:")},
	"config":    {Words: "a configuration file", Max: maxWord, Files: true},
	"scripts":   {Words: "a folder with files of T-SQL", Max: maxWord, Files: true},
	"context":   aContext,
	"output":    loose("table", "wide", "json", "yaml", "csv", "name", "jsonl"),
	"log-level": enum("debug", "info", "warn", "error"),
	"color":     loose("auto", "always", "never"),
	"progress":  loose("auto", "live", "plain", "none"),
	"columns":   word, "sort": word, "jq": word, "by": word, "group-by": word, "sum": word,
	"against": {Words: "majority, a file or SERVER/DATABASE", Max: maxWord, Files: true}, "exclude": word,
	"ignore": loose("constraint-names", "collations", "fill-factors", "column-order", "trust"), "include": loose("permissions", "system-names"),

	// Objects.
	"job": job, "target-group": group, "server-group": group, "results": place, "step-name": step, "schedule": timetable, "calendar": calendar, "blackouts": calendar, "zone-tag": word,
	"server": server, "database": database, "admin-database": database, "as": loose("tsql", "yaml"), "elastic-pool": database, "shard-map": database, "credential": removable(credential),
	"refresh-credential": removable(credential), "target-credential": credential, "target-user": word, "target-secret": reference,
	"target-auth": enum("sql-login", "windows", "windows-ntlm"), "target-keytab": {Words: "a keytab", Max: maxWord, Files: true},
	"keytab":         {Words: "a keytab", Max: maxWord, Files: true},
	"target-servers": server, "servers": {Words: "the names of servers, separated by commas", source: nothing}, "alert": rule, "channel": channel, "name": newName("the step"), "new-name": newName("the object"),
	"execution-id": guid, "agent-id": guid, "target": guid, "correlation-id": guid,

	// Definitions.
	"member-group": group, "query": {Words: "a T-SQL batch", source: nothing}, "tag-filter": {Words: "a filter of tags, such as \"tier = 'gold'\"", source: nothing}, "remove": word,
	"description": {Words: "a text", Max: maxDescription, Empty: true, source: nothing},
	"wave":        wave,
	"note":        note, "reason": {Words: "a text", Max: maxReason, Empty: true, source: nothing},
	"message": {Words: "a text", Empty: true, source: nothing},
	"dir":     {Words: "a directory", Max: maxWord, Folder: true}, "plan-dir": {Words: "a directory", Max: maxWord, Folder: true},
	"file": file, "spec": file, "body-file": file, "command-file": file, "params-file": file, "cpuprofile": file, "report": {Words: "a file", Max: maxWord, Files: true},
	"command":      {Words: "a T-SQL script", source: nothing},
	"command-type": enum(spelled(action.Types())...), "type": enum(spelled(action.Types())...),
	"param": runParameter, "param-json": runParameter, "var": parameter, "tag": parameter,
	"after":              removable(step),
	"run-when":           enum("Succeeded", "Failed", "Finished"),
	"on-targets":         enum("All", "Failed", "Succeeded"),
	"retry-errors":       enum("Transient", "All"),
	"tolerated-failures": {Words: "a number, or a percentage such as 1%", Max: 10, source: nothing},
	"on-unknown-outcome": enum("Retry", "Fail", "Await"),
	"interval-type":      enum(spelled(schedule.Intervals())...),
	"output-type":        removable(enum("SqlDatabase")),
	"output-server":      removable(server), "output-database": removable(database), "output-schema": removable(database),
	"output-table": removable(database), "output-credential": removable(credential),
	"auth": word, "body": free, "header": word, "key": word, "key-name": word, "sas-token": word, "success": word,
	"http":    loose(methods...),
	"payload": loose("query", "body"),
	"process": {Words: "an entry of the agent's processes", Max: maxName, source: processes},
	"drift":   {Words: "none, majority, SERVER/DATABASE or a baseline", Max: maxWord, source: nothing},

	// Schedules.
	"cron5": word, "cron6": word, "quartz": word, "rrule": word,
	"systemd": free, "eventbridge": word, "groc": word, "airflow": word, "iso8601": word,
	"kind":     loose(append(spelled(schedule.Kinds()), spelled(schedule.Forms())...)...),
	"zone":     removable(zone),
	"overlap":  removable(loose(model.OverlapNames()...)),
	"catch-up": removable(loose(catchUps...)),
	"state":    enum(scheduleStates...),

	// Times.
	"start-time": instant, "end-time": instant, "start": instant, "from": instant, "to": instant, "until": instant, "before": instant, "skip-until": instant,
	"only-targets": databases, "on": databases, "needs": {Words: "a JSON object", Max: 400, source: nothing},
	"since": {Words: "a time such as 2026-01-31 22:00", Max: 64, source: nothing},

	// Runs, alerts and the audit log.
	"lifecycle": several(lifecycles...), "only": removable(loose(finalStates...)),
	"trigger":  {Words: "Manual, Schedule, Backfill, Rerun or Job", Enum: []string{"Manual", "Schedule", "Backfill", "Rerun", "Job"}, Separator: ",", Max: maxWord},
	"severity": enum(severities...), "jobs": {Words: "names of jobs with * and ?", Max: maxName, Empty: true, source: nothing},
	"groups": {Words: "names of target groups with * and ?", Max: maxName, Empty: true, source: nothing},
	"action": {Words: "the name of a procedure, such as sp_update_job", Max: maxName, source: nothing},
	"who":    {Words: "the name of a person, a program or a login", Max: maxName, source: nothing},

	// Accounts, secrets and tokens.
	"sku":      loose("JA100", "JA200", "JA400", "JA800"),
	"location": {Words: "a place", Max: maxName, Empty: true, source: nothing}, "identity": {Words: "the resource ID of an identity", Max: maxIdentity, Empty: true, source: nothing},
	"host": server, "retire": {Words: "the ID of a key", Hint: "jobagent key list shows all keys", Max: 64, source: nothing},
	"scope": {Words: "/ for everything, or the ID of a resource", Max: maxWord, source: words("/")}, "expires": {Words: "a duration, or an instant in RFC 3339", Max: 64, source: nothing},
	"role": enum(restRoles...), "platform": enum(deploy.Platforms...), "login": {Words: "the name of a login", Max: maxName, source: nothing},

	// Servers of this program.
	"data":   {Words: "a directory", Max: maxWord, Folder: true},
	"listen": {Words: "an address to listen on: host:port", Max: maxWord, source: nothing}, "rest-listen": {Words: "an address to listen on: host:port", Max: maxWord, Empty: true, source: nothing},
	"sa-password": {Words: "a password", source: nothing}, "max-concurrent-targets": loose("JA100", "JA200", "JA400", "JA800"),
	"certificate": reference, "secret": reference, "client": word, "tenant": word, "user": word,
	"targets":      group,
	"password-ref": {Words: "env:NAME, file:PATH, keyring or prompt", Max: maxWord, Empty: true, source: words("env:", "file:", "keyring", "prompt")},
	"encrypt":      loose("true", "strict", "disable"), "certificate-sha256": removable(word), "shell": loose("bash", "zsh"),
	"prompt-color": removable(loose("red", "green", "yellow", "blue", "magenta", "cyan", "none")),
	"statement":    {Words: "a T-SQL batch", source: nothing},
}

// ownFlags are the kinds of flags of single commands, where the same word means something else.
var ownFlags = map[string]Kind{
	"job parameter set --type":              loose(spelled(parameters.Types())...),
	"job parameter set --default":           free,
	"job parameter set --choice":            free,
	"job trigger add --after":               job,
	"job trigger update --after":            job,
	"job trigger add --targets":             enum("All", "Succeeded"),
	"job trigger update --targets":          enum("All", "Succeeded"),
	"job graph --as":                        enum("tree", "mermaid"),
	"alert rule add --lifecycle":            removable(several(lifecycles...)),
	"alert rule update --lifecycle":         removable(several(lifecycles...)),
	"context add --auth":                    removable(loose("entra", "entra-managed-identity", "entra-service-principal")),
	"context update --auth":                 removable(loose("entra", "entra-managed-identity", "entra-service-principal")),
	"context update --user":                 removable(word),
	"alert mute --for":                      period,
	"target pause --for":                    period,
	"account create --database":             {Words: "the name of a control database in the configuration", Max: maxName, source: nothing},
	"alert rule add --job":                  removable(job),
	"alert rule update --job":               removable(job),
	"alert rule add --channel":              removable(channel),
	"alert rule update --channel":           removable(channel),
	"alert channel update --definition":     {Words: "a JSON object, or @FILE", source: nothing},
	"audit list --job":                      {Words: "the name that a job had, or its ID", Hint: job.Hint, Max: maxName, source: names(naming.OfJobs)},
	"db grants --role":                      enum(deploy.GrantRoles...),
	"execution list --lifecycle":            several(append([]string{"Running"}, lifecycles...)...),
	"execution targets --lifecycle":         several(append([]string{"Running"}, lifecycles...)...),
	"doctor --credential":                   credential,
	"execution complete --target":           place,
	"execution give-up --target":            place,
	"execution retry-now --target":          place,
	"action try --credential":               credential,
	"import sql-agent --job":                {Words: "the name of a job of SQL Server Agent", Max: maxName, source: nothing},
	"import azure-scheduler --target-group": newName("the target group"),
	"import crontab --target-group":         newName("the target group"),
	"import icalendar --target-group":       newName("the target group"),
	"import quartz --prefix":                {Words: "the beginning of the names of Quartz' tables", Max: maxName, Empty: true, source: words("QRTZ_")},
	"import kubernetes --target-group":      newName("the target group"),
	"import quartz --scheduler":             {Words: "the name of a scheduler of Quartz", Max: maxName, source: nothing},
	"import quartz --target-group":          newName("the target group"),
	"import sap --target-group":             newName("the target group"),
	"import sql-agent --target-group":       newName("the target group"),
	"import task-scheduler --target-group":  newName("the target group"),
	"key rotate --key":                      reference,
	"serve binding --key":                   reference,
	"rollout list --state":                  several(spelled(rollouts.States())...),
	"rollout targets --state":               several(targetStates...),
	"rollout undo --only":                   several("Succeeded", "Unknown", "Failed", "Unreached"),
	"rollout reject --reason":               {Words: "a text", Max: maxNote, source: nothing},
	"rollout pause --reason":                note,
	"target pause --reason":                 note,
	"target-group import --source":          loose("csv", "azure-resource-graph"),
	"rollout abort --reason":                note,
	"schedule preview --after":              instant,
	"secret set --from":                     reference,
	"step add --target-group":               removable(group),
	"step update --target-group":            removable(group),
	"step add --body":                       free,
	"token --file":                          {Words: "the file of the tokens", Max: maxWord, Files: true},
	"execution rerun --job-version":         {Words: "current, or the number of a version", Max: 20, source: words("current")},
	"execution rerun --only":                several(finalStates...),
	"execution rerun --targets":             databases,
	"execution outcomes --job-search":       {Words: "a part of the names of jobs", Max: maxName, source: nothing},
	"execution outcomes --search":           {Words: "a part of the names of databases or servers", Max: maxServer, source: nothing},
	"target list --search":                  {Words: "a part of the names of databases or servers", Max: maxServer, source: nothing},
	"execution outcomes --target":           {Words: "the name of a database, or SERVER/DATABASE", Max: maxServer + 1 + maxName, source: nothing},
	"execution list --target":               {Words: "the name of a database, or SERVER/DATABASE", Max: maxServer + 1 + maxName, source: nothing},
}

// formerly is the annotation of a command that has another name now.
const formerly = "formerly"

// Formerly hides a command that earlier releases had by this name. now is its present name, whose
// entries in the tables of this package are those of both.
func Formerly(cmd *cobra.Command, now string) *cobra.Command {
	cmd.Hidden = true
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[formerly] = now
	return cmd
}

// path is a command without the program's name: "job start".
func path(cmd *cobra.Command) string {
	if now, ok := cmd.Annotations[formerly]; ok {
		return now
	}
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()), " ")
}

// KindOfArgument returns the kind of an argument of a command; ok is false if it has none.
func KindOfArgument(cmd *cobra.Command, word string) (k Kind, ok bool) {
	if k, ok = ownArguments[path(cmd)+" "+word]; ok {
		return k, true
	}
	k, ok = argumentKinds[word]
	return k, ok
}

// KindOfFlag returns the kind of a flag of a command; ok is false if it has none. Flags that are no
// texts, such as numbers and durations, check themselves.
func KindOfFlag(cmd *cobra.Command, f *pflag.Flag) (k Kind, ok bool) {
	for c := cmd; c != nil; c = c.Parent() { // a flag of a group of commands is persistent
		if k, ok = ownFlags[path(c)+" --"+f.Name]; ok {
			return k, true
		}
	}
	if k, ok = flagKinds[f.Name]; !ok && action.OfFlag(f.Name).Info().Place != nil {
		return word, true
	}
	return k, ok
}

// oldFlags are spellings of flags that still work, with those that replaced them: words of T-SQL,
// and of earlier versions.
var oldFlags = map[string]string{
	"time-zone": "zone", "timezone": "zone", "tz": "zone", "job-name": "job", "target-group-name": "target-group", "server-name": "server",
	"database-name": "database", "elastic-pool-name": "elastic-pool", "shard-map-name": "shard-map", "credential-name": "credential",
	"refresh-credential-name": "refresh-credential", "schedule-name": "schedule", "step-timeout-seconds": "timeout",
	"schedule-interval-type": "interval-type", "schedule-interval-count": "interval-count", "schedule-start-time": "start-time",
	"schedule-end-time": "end-time", "output-table-name": "output-table", "output-server-name": "output-server",
	"output-database-name": "output-database", "output-schema-name": "output-schema", "output-credential-name": "output-credential",
}

// ownOldFlags are the same for single commands, where a word means something else elsewhere.
var ownOldFlags = map[string]string{
	"schedule preview --count": "limit", "schedule preview --spec": "file", "schedule add --spec": "file", "schedule update --spec": "file",
	"calendar add --spec": "file", "calendar update --spec": "file", "schedule preview --start-time": "start", "schedule preview --since": "after",
	"schedule backfill --since": "from", "schedule backfill --until": "to", "step add --step-name": "name",
	"alert rule add --lifecycles": "lifecycle", "alert rule update --lifecycles": "lifecycle", "execution complete --target-id": "target",
	"rollout approve --comment": "note", "schedule pause --reason": "note", "schedule resume --reason": "note", "alert mute --reason": "note", "account disable --note": "reason",
	"query --group": "target-group", "query --top": "limit", "query --server": "servers",
	"drift check --group": "target-group", "drift check --server": "servers", "drift export --server": "servers",
	"action try --timeout": "time-limit", "audit list --from": "since", "audit list --to": "until", "history purge --until": "before",
}

// Spelling returns the name of a flag of a command, given by that name or by an old one.
func Spelling(cmd *cobra.Command, name string) string {
	if to, ok := ownOldFlags[path(cmd)+" --"+name]; ok {
		return to
	}
	if to, ok := oldFlags[name]; ok {
		return to
	}
	return name
}
