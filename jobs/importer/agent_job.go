package importer

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// AgentJob holds a job of SQL Server Agent: a row of msdb.dbo.sysjobs and the rows that belong to
// it (https://learn.microsoft.com/sql/relational-databases/system-tables/dbo-sysjobs-transact-sql).
type AgentJob struct {
	Name        string
	Enabled     bool
	Description string
	StartStepID int
	// Category is the name of the job's category in syscategories.
	Category string
	// These levels say when operators are notified and when the job deletes itself: 0 never, 1 on
	// success, 2 on failure, 3 always.
	NotifyEmail, NotifyNetSend, NotifyPage, DeleteLevel int
	// These operators are notified.
	EmailOperator, NetSendOperator, PageOperator AgentOperator
	// Foreign is true for a job that a master server (MSX) sent.
	Foreign bool
	// Alerts are the names of the alerts that start the job.
	Alerts    []string
	Steps     []AgentStep
	Schedules []AgentSchedule
}

// AgentOperator is a person or group that SQL Server Agent notifies. Address may be empty.
type AgentOperator struct{ Name, Address string }

// AgentStep holds a row of msdb.dbo.sysjobsteps
// (https://learn.microsoft.com/sql/relational-databases/system-tables/dbo-sysjobsteps-transact-sql).
type AgentStep struct {
	ID            int
	Name          string
	Subsystem     string
	Command       string
	OnSuccess     int
	OnSuccessStep int
	OnFail        int
	OnFailStep    int
	Database      string
	DatabaseUser  string
	RetryAttempts int
	RetryInterval int // minutes
	OutputFile    string
	Flags         int
	ProxyID       int
	Proxy         string // its name, if that is known
}

// These are the values of on_success_action and on_fail_action.
const (
	quitWithSuccess = 1
	quitWithFailure = 2
	goToNext        = 3
	goToStep        = 4
)

// SQLAgent converts jobs of SQL Server Agent.
func SQLAgent(jobs []AgentJob, o Options) *Result {
	r := newSQLAgent(o)
	for i := range jobs {
		r.agentJob(&jobs[i])
	}
	return r
}

// newSQLAgent returns a result without jobs, with what is to be said of each import.
func newSQLAgent(o Options) *Result {
	r := &Result{source: "SQL Server Agent", opts: o}
	if o.Zone == "" {
		r.opts.Zone = "UTC"
		r.note("", "time zone", "clock times of SQL Server Agent are those of its server: UTC is taken; say --zone if the server has another")
	} else if o.Zone != "UTC" {
		r.note("", "time zone", "%s: where clocks are changed, a time that does not exist runs later by the length of the gap, and one that exists twice runs once", o.Zone)
	}
	r.note("", "notify_level_eventlog", "nothing is written to the event log of Windows: jobs.job_executions holds the outcome of every run")
	return r
}

// agentJob converts one job of SQL Server Agent and adds it to the result.
func (r *Result) agentJob(a *AgentJob) {
	job := Job{Name: r.jobName(a.Name, "sql-agent-job")}
	description, was := cut(a.Description, maxDescription)
	if was {
		r.changed(job.Name, "description", "it is longer than %d characters and was cut", maxDescription)
	}
	if description == "No description available." { // SQL Server's text for a job without a description
		description = ""
	}
	job.Description = description
	r.agentSurroundings(job.Name, a)
	r.agentNotifications(&job, a)
	r.agentSteps(&job, a)
	if !a.Enabled {
		r.note(job.Name, "enabled", "the job is disabled: its schedules are created disabled")
	}
	for _, s := range a.Schedules {
		r.agentSchedule(&job, s, a.Enabled)
	}
	r.Jobs = append(r.Jobs, job)
}

// agentSurroundings reports the category, origin and alerts of a job, which have no counterpart.
func (r *Result) agentSurroundings(job string, a *AgentJob) {
	if c := a.Category; c != "" && !strings.HasPrefix(c, "[Uncategorized") {
		r.lost(job, "category_id", "the category %q", c)
	}
	if a.DeleteLevel != 0 {
		r.lost(job, "delete_level", "the job deletes itself %s", agentLevels[a.DeleteLevel])
	}
	if a.Foreign {
		r.lost(job, "originating_server_id", "a master server sent the job here: import it there, and name its targets in a target group")
	}
	for _, alert := range a.Alerts {
		r.lost(job, "sysalerts", "the alert %q starts the job", alert)
	}
}

// agentLevels are the levels of notifications in words.
var agentLevels = map[int]string{1: "when it succeeds", 2: "when it fails", 3: "when it ends"}

// agentLifecycles are the levels of notifications as lifecycles of runs, with words for the name of
// a rule.
var agentLifecycles = map[int][2]string{
	1: {"Succeeded,SucceededWithSkipped", "succeeded"}, 2: {"Failed,TimedOut", "failed"},
	3: {"Succeeded,SucceededWithSkipped,Failed,TimedOut,Canceled", "ended"},
}

// agentNotifications converts notifications of operators to rules of alerts, one for each level.
// Who is told is the reader's to say, in channels.
func (r *Result) agentNotifications(job *Job, a *AgentJob) {
	for level := 1; level <= 3; level++ {
		var elements, told []string
		for _, n := range []struct {
			element, by string
			level       int
			operator    AgentOperator
		}{
			{"notify_level_email", "by mail", a.NotifyEmail, a.EmailOperator},
			{"notify_level_netsend", "by net send", a.NotifyNetSend, a.NetSendOperator},
			{"notify_level_page", "by pager", a.NotifyPage, a.PageOperator},
		} {
			if n.level != level {
				continue
			}
			who := "an operator"
			if n.operator.Name != "" {
				who = fmt.Sprintf("the operator %q", n.operator.Name)
			}
			if n.operator.Address != "" {
				who += fmt.Sprintf(" (%s)", n.operator.Address)
			}
			elements, told = append(elements, n.element), append(told, who+" was told "+n.by)
		}
		if elements == nil {
			continue
		}
		words := agentLifecycles[level]
		short, _ := cut(job.Name, maxName-16)
		rule := Alert{Name: short + ": " + words[1], Lifecycles: words[0]}
		who := fmt.Sprintf("%s %s", strings.Join(told, ", "), agentLevels[level])
		rule.Operators = who + ". The rule tells nobody until it has a channel."
		job.Alerts = append(job.Alerts, rule)
		r.toSet(job.Name, strings.Join(elements, ", "), "%s: the script has the alert rule %q, which tells nobody yet. Make a channel (jobagent alert channel add), then: jobagent alert rule update %q --channel NAME",
			who, rule.Name, rule.Name)
	}
}

// sortedSteps returns the steps by their ids, and the index of the first one that runs.
func (r *Result) sortedSteps(job string, a *AgentJob) (steps []AgentStep, start int) {
	steps = slices.Clone(a.Steps)
	slices.SortStableFunc(steps, func(x, y AgentStep) int { return x.ID - y.ID })
	start = slices.IndexFunc(steps, func(s AgentStep) bool { return s.ID == a.StartStepID })
	if start < 0 && len(steps) > 0 {
		start = 0
		r.changed(job, "start_step_id", "step %d does not exist: the first step is taken", a.StartStepID)
	}
	return steps, start
}

// agentSteps converts the steps of a job, with the conditions under which they run.
func (r *Result) agentSteps(job *Job, a *AgentJob) {
	steps, start := r.sortedSteps(job.Name, a)
	if len(steps) == 0 {
		r.note(job.Name, "steps", "the job has none")
		return
	}
	f := newAgentFlow(steps, start)
	for _, d := range f.dropped {
		result := "fails"
		if d.success {
			result = "succeeds"
		}
		if d.back {
			r.lost(job.Name, agentElement(steps[d.from]), "when it %s the job goes back to step %d, from which it came: here the run ends; the schedules are created disabled", result, d.to)
		} else {
			r.lost(job.Name, agentElement(steps[d.from]), "when it %s the job goes to step %d, which does not exist: here the run ends; the schedules are created disabled", result, d.to)
		}
		job.held = true
	}
	names := make([]string, len(f.nodes))
	for i, n := range f.nodes {
		if r.steps++; r.full() {
			return
		}
		var s Step
		if n.pass {
			s = r.passStep(job, names[n.after[0]])
		} else {
			s = r.agentStep(job, steps[n.step])
		}
		names[i] = s.Name
		if usual := i > 0 && len(n.after) == 1 && n.after[0] == i-1; i > 0 && !usual {
			s.After = []string{}
			for _, a := range n.after {
				s.After = append(s.After, names[a])
			}
		}
		if n.runWhen != runSucceeded {
			s.RunWhen = n.runWhen
		}
		job.Steps = append(job.Steps, s)
	}
	r.agentDifferences(job, f, steps)
	for i, s := range steps {
		if !slices.Contains(f.steps, i) {
			r.changed(job.Name, agentElement(s), "no step leads to it, so it never ran: it is a comment in the script")
			text := fmt.Sprintf("Not created, because no step led to it: %s", agentElement(s))
			if strings.EqualFold(s.Subsystem, "TSQL") || r.opts.KeepCommands || !mayHoldSecret(s.Command) {
				text += "\n" + s.Command
			}
			job.Comments = append(job.Comments, text)
		}
	}
}

// passStep returns a step that does nothing. It is for steps that go on after a failure.
func (r *Result) passStep(job *Job, of string) Step {
	name, _ := cut("continue after "+of, maxName-8)
	return Step{
		Name: job.stepName(name, func(string) {}), Command: "-- It lets the next step run although the step before has failed.", Interval: 1, Timeout: maxTimeout,
		TargetGroup: TargetGroup{Name: emptyGroup},
	}
}

// agentDifferences reports where other steps run than in SQL Server Agent, or the run ends
// otherwise.
func (r *Result) agentDifferences(job *Job, f *agentFlow, steps []AgentStep) {
	list := func(failing []int) string {
		if len(failing) == 0 {
			return "when every step succeeds"
		}
		var names []string
		for _, i := range failing {
			names = append(names, fmt.Sprintf("step %d", steps[f.steps[i]].ID))
		}
		if len(names) == 1 {
			return "when " + names[0] + " fails"
		}
		return "when " + strings.Join(names, " and ") + " fail"
	}
	for _, n := range f.nodes {
		if n.pass {
			continue
		}
		_, first := f.vectors.cost(n.there, n.here)
		if first == nil {
			continue
		}
		how := "it runs here, and did not run there"
		if !first.here {
			how = "it does not run here, and ran there"
		}
		if len(first.failing) > 1 {
			r.changed(job.Name, agentElement(steps[n.step]), "%s, %s", list(first.failing), how)
			continue
		}
		job.held = true
		r.lost(job.Name, agentElement(steps[n.step]), "%s, %s: no condition of a step says the same. The schedules are created disabled; see whether that does harm, then enable them with jobagent schedule enable", list(first.failing), how)
	}
	here, there := f.outcomes()
	for _, d := range here {
		element := "steps"
		if len(d.failing) > 0 {
			element = agentElement(steps[f.steps[d.failing[0]]])
		}
		r.changed(job.Name, element, "%s, the run is Failed here; SQL Server Agent's job ended as succeeded", list(d.failing))
	}
	for _, d := range there {
		r.lost(job.Name, "on_success_action", "%s, SQL Server Agent's job ended as failed; the run is Succeeded here", list(d.failing))
	}
}

func agentElement(s AgentStep) string { return fmt.Sprintf("step %d %q", s.ID, s.Name) }

// agentToken matches the tokens that SQL Server Agent replaces in commands
// (https://learn.microsoft.com/ssms/agent/use-tokens-in-job-steps).
var agentToken = regexp.MustCompile(`\$\((?:ESCAPE_\w+\()?(?:A-\w+|DATE|INST|JOBID|JOBNAME|MACH|MSSA|OSCMD|SQLDIR|SQLLOGDIR|SRVR|STEPCT|STEPID|STEPNAME|STRTDT|STRTTM|TIME|WMI\([^)]*\))\)?\)`)

// agentWords are the tokens that have a variable with the same value here.
var agentWords = map[string]string{"JOBNAME": "job_name", "STEPID": "step_id", "STEPNAME": "step_name"}

// agentServerToken matches the token of the server's own name.
var agentServerToken = regexp.MustCompile(`\$\((?:SRVR|ESCAPE_\w+\(SRVR\))\)`)

// agentSubsystems say what to do with a step of a subsystem without a counterpart.
var agentSubsystems = map[string]string{
	"powershell":      "The entry may run pwsh or powershell.exe with the script in a file.",
	"ssis":            "A package in SSISDB starts by T-SQL (catalog.create_execution, catalog.start_execution), another one with dtexec.",
	"dts":             "A package in SSISDB starts by T-SQL (catalog.create_execution, catalog.start_execution), another one with dtexec.",
	"analysiscommand": "The entry may run a program that sends it to Analysis Services.",
	"analysisquery":   "The entry may run a program that sends it to Analysis Services.",
	"activescripting": "SQL Server itself no longer runs ActiveX scripts.",
	"snapshot":        agentReplication, "logreader": agentReplication, "distribution": agentReplication, "merge": agentReplication, "queuereader": agentReplication,
}

// joinedOption matches options of programs that may be a user or a password, joined with its value.
var joinedOption = regexp.MustCompile(`(?i)(?:^|\s)[-/][pu]\S`)

const agentReplication = "It is an agent of replication, which belongs to its server: leave this job in SQL Server Agent."

// agentStep converts one step. A call of sqlcmd becomes T-SQL if each of its options is understood.
// Any other step that is not T-SQL becomes one that waits or fails, because later steps may depend
// on it and must not run without it.
func (r *Result) agentStep(job *Job, s AgentStep) Step {
	element := agentElement(s)
	name, _ := cut(strings.TrimSpace(s.Name), maxName-8)
	if name == "" {
		name = fmt.Sprintf("step %d", s.ID)
	}
	name = job.stepName(name, func(n string) { r.changed(job.Name, element, "another step has this name: it becomes %q", n) })
	r.agentStepRest(job.Name, element, s)
	var step Step
	if strings.EqualFold(s.Subsystem, "TSQL") {
		step = r.agentTSQL(job, element, s)
	} else {
		step = r.commandStep(job, agentCommand(s, element, name))
	}
	step.Name = name
	if !strings.HasPrefix(step.Command, standInBegin) {
		step.Attempts, step.Interval = max(s.RetryAttempts, 0), min(max(60*s.RetryInterval, 1), maxRetry)
	}
	return step
}

// agentCommand returns the command of a step that is not T-SQL.
func agentCommand(s AgentStep, element, name string) outsideCommand {
	c := outsideCommand{
		variable: noVariable, element: element, where: "This step of SQL Server Agent", step: name, advice: agentSubsystems[strings.ToLower(s.Subsystem)],
		original: strings.TrimSpace(s.Command), plain: !mayHoldSecret(s.Command),
	}
	if !strings.EqualFold(s.Subsystem, "CmdExec") {
		c.what = fmt.Sprintf("a step of the subsystem %s", s.Subsystem)
		return c
	}
	c.plain = c.plain && !joinedOption.MatchString(c.original)
	line := agentServerToken.ReplaceAllString(c.original, ".") // sqlcmd's name of the server on its machine
	for i, word := range splitWindows(line) {
		if i == 0 {
			word = path.Base(strings.ReplaceAll(word, `\`, "/"))
		}
		w := windowsWord(word)
		if agentToken.MatchString(word) || len(line) > maxArguments {
			w.variable, w.unknown = true, true
		}
		c.words = append(c.words, w)
	}
	if strings.ContainsAny(line, "|&<>^\n\r") { // cmd.exe acts on these, also within some quotes
		c.words = append(c.words, shellWord{unknown: true})
	}
	return c
}

// agentStepRest reports what a step has beside its command.
func (r *Result) agentStepRest(job, element string, s AgentStep) {
	if s.DatabaseUser != "" {
		r.lost(job, element, "it runs as the database user %q: write EXECUTE AS into its command, or give it a credential", s.DatabaseUser)
	}
	if proxy := s.Proxy; proxy != "" || s.ProxyID != 0 {
		if proxy == "" {
			proxy = strconv.Itoa(s.ProxyID)
		}
		r.lost(job, element, "it runs under the proxy %s: give it a credential of the agent's configuration", proxy)
	}
	if s.OutputFile != "" {
		r.lost(job, element, "its output goes to a file: here jobs.job_execution_messages holds it, and an output table what it selects")
	}
	if s.Flags&(8|16) != 0 {
		r.lost(job, element, "its output goes to msdb.dbo.sysjobstepslogs: here jobs.job_execution_messages holds it")
	}
}

// systemDatabases are the databases that every server has.
var systemDatabases = []string{"master", "model", "msdb", "tempdb"}

// userDatabase returns the database of a T-SQL step: a system database is replaced by that of the
// options, or else reported, and then the schedules of the job are disabled.
func (r *Result) userDatabase(job *Job, element, database string) string {
	if !slices.Contains(systemDatabases, strings.ToLower(database)) {
		return database
	}
	switch {
	case r.opts.TargetGroup != "":
		r.note(job.Name, element, "it ran in the system database %s; the step runs on the target group %q: what it names has to be there", database, r.opts.TargetGroup)
	case r.opts.AdminDatabase != "":
		r.changed(job.Name, element, "it ran in the system database %s; the step runs in %s: what it names without a database has to be there", database, r.opts.AdminDatabase)
		return r.opts.AdminDatabase
	default:
		job.held = true
		r.toSet(job.Name, element, "it runs in the system database %s. On the server of the control database, no agent runs scripts there; elsewhere its login needs rights there. Put what it calls into another database, and import with --admin-database NAME; or, on another server, enable the schedules, which are created disabled", database)
	}
	return database
}

// agentTSQL converts a step that is T-SQL.
func (r *Result) agentTSQL(job *Job, element string, s AgentStep) Step {
	step := Step{Command: s.Command, Timeout: maxTimeout}
	database := s.Database
	if database == "" {
		database = "master"
	}
	database = r.userDatabase(job, element, database)
	step.TargetGroup = r.databaseGroup(database)
	if strings.TrimSpace(s.Command) == "" {
		step.Command = "-- The step had no command."
		r.note(job.Name, element, "its command is empty")
		return step
	}
	var changed, lost []string
	step.Command = agentToken.ReplaceAllStringFunc(s.Command, func(t string) string {
		name := strings.Trim(t[2:], "()")
		if _, inner, escaped := strings.Cut(name, "("); escaped {
			name = inner
		}
		list, token := &lost, t
		if own := agentWords[name]; own != "" {
			list, token = &changed, "$("+own+")"
		}
		if !slices.Contains(*list, t) {
			*list = append(*list, t)
		}
		return token
	})
	if changed != nil {
		r.changed(job.Name, element, "the tokens %s become variables of the agent, such as $(job_name)", strings.Join(changed, ", "))
	}
	if lost != nil {
		step.unwritten = true
		r.lost(job.Name, element, "nothing replaces the tokens %s; here there are $(job_name), $(job_id), $(step_id), $(step_name), $(job_execution_id) and others. The schedules are created disabled",
			strings.Join(lost, ", "))
	}
	return step
}
