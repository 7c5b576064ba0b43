package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/jobs/tsql"
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
	// Foreign is true for a job that a master server (MSX) sent.
	Foreign bool
	// Alerts are the names of the alerts that start the job.
	Alerts    []string
	Steps     []AgentStep
	Schedules []AgentSchedule
}

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
	r := &Result{source: "SQL Server Agent", opts: o}
	if o.Zone == "" {
		r.opts.Zone = "UTC"
		r.note("", "time zone", "clock times of SQL Server Agent are those of its server: UTC is taken; say --zone if the server has another")
	} else if o.Zone != "UTC" {
		r.note("", "time zone", "%s: where clocks are changed, a time that does not exist runs later by the length of the gap, and one that exists twice runs once", o.Zone)
	}
	r.note("", "notify_level_eventlog", "nothing is written to the event log of Windows: jobs.job_executions holds the outcome of every run")
	for i := range jobs {
		r.agentJob(&jobs[i])
	}
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
	for _, s := range r.agentPath(job.Name, a) {
		job.Steps = append(job.Steps, r.agentStep(&job, s))
	}
	if len(a.Steps) == 0 {
		r.note(job.Name, "steps", "the job has none")
	}
	if !a.Enabled {
		r.note(job.Name, "enabled", "the job is disabled: its schedules are created disabled")
	}
	for _, s := range a.Schedules {
		r.agentSchedule(&job, s, a.Enabled)
	}
	r.Jobs = append(r.Jobs, job)
}

// agentSurroundings reports the category, notifications, origin and alerts of a job, which have no
// counterpart.
func (r *Result) agentSurroundings(job string, a *AgentJob) {
	if c := a.Category; c != "" && !strings.HasPrefix(c, "[Uncategorized") {
		r.lost(job, "category_id", "the category %q", c)
	}
	for _, n := range []struct {
		element string
		level   int
	}{{"notify_level_email", a.NotifyEmail}, {"notify_level_netsend", a.NotifyNetSend}, {"notify_level_page", a.NotifyPage}} {
		if n.level != 0 {
			r.lost(job, n.element, "an operator is notified %s: watch jobs.job_executions instead", agentLevel(n.level))
		}
	}
	if a.DeleteLevel != 0 {
		r.lost(job, "delete_level", "the job deletes itself %s", agentLevel(a.DeleteLevel))
	}
	if a.Foreign {
		r.lost(job, "originating_server_id", "a master server sent the job here: import it there, and name its targets in a target group")
	}
	for _, alert := range a.Alerts {
		r.lost(job, "sysalerts", "the alert %q starts the job", alert)
	}
}

// agentLevel describes a notification level in words.
func agentLevel(n int) string {
	if text, ok := map[int]string{1: "when it succeeds", 2: "when it fails", 3: "when it ends"}[n]; ok {
		return text
	}
	return fmt.Sprintf("at the level %d", n)
}

// agentPath returns the steps that run when every step succeeds, and reports all other steps. A
// converted job consists of these steps and ends at the first failure.
func (r *Result) agentPath(job string, a *AgentJob) []AgentStep {
	steps := slices.Clone(a.Steps)
	slices.SortFunc(steps, func(x, y AgentStep) int { return x.ID - y.ID })
	find := func(id int) int { return slices.IndexFunc(steps, func(s AgentStep) bool { return s.ID == id }) }
	var path []AgentStep
	seen := map[int]bool{}
	i := find(a.StartStepID)
	if i < 0 && len(steps) > 0 {
		i = 0
		r.changed(job, "start_step_id", "step %d does not exist: the first step is taken", a.StartStepID)
	}
	for i >= 0 && i < len(steps) {
		s := steps[i]
		element := agentElement(s)
		if seen[s.ID] {
			r.lost(job, element, "after the last step the job goes back to this one; here it ends")
			break
		}
		seen[s.ID] = true
		path = append(path, s)
		r.agentOnFail(job, element, s)
		next := len(steps)
		switch s.OnSuccess {
		case quitWithFailure:
			r.lost(job, element, "the job ends as failed when this step succeeds; here it ends as succeeded")
		case goToNext:
			next = i + 1
		case goToStep:
			if next = find(s.OnSuccessStep); next < 0 {
				r.lost(job, element, "on success it goes to step %d, which does not exist; here the job ends", s.OnSuccessStep)
			}
		}
		i = next
	}
	for _, s := range steps {
		if !seen[s.ID] {
			r.lost(job, agentElement(s), "it is not among the steps that run when every step succeeds: a job here ends at the first step that fails")
		}
	}
	return path
}

func agentElement(s AgentStep) string { return fmt.Sprintf("step %d %q", s.ID, s.Name) }

// agentOnFail reports the action after a failure of s unless that action ends the job as failed.
func (r *Result) agentOnFail(job, element string, s AgentStep) {
	switch s.OnFail {
	case quitWithSuccess:
		r.lost(job, element, "when it fails the job ends as succeeded; here it ends as failed")
	case goToNext:
		r.lost(job, element, "when it fails the next step runs; here the job ends. TRY and CATCH in its command can keep it from failing")
	case goToStep:
		r.lost(job, element, "when it fails step %d runs; here the job ends", s.OnFailStep)
	}
}

// agentToken matches the tokens that SQL Server Agent replaces in commands
// (https://learn.microsoft.com/ssms/agent/use-tokens-in-job-steps).
var agentToken = regexp.MustCompile(`\$\((?:ESCAPE_\w+\()?(?:A-\w+|DATE|INST|JOBID|JOBNAME|MACH|MSSA|OSCMD|SQLDIR|SQLLOGDIR|SRVR|STEPCT|STEPID|STEPNAME|STRTDT|STRTTM|TIME|WMI\([^)]*\))\)?\)`)

// agentStep converts one step. A step that is not T-SQL becomes a step that fails with a message,
// because later steps may depend on it and must not run without it.
func (r *Result) agentStep(job *Job, s AgentStep) Step {
	element := agentElement(s)
	step := Step{Command: s.Command, Attempts: max(s.RetryAttempts, 0), Interval: min(max(60*s.RetryInterval, 1), maxRetry), Timeout: maxTimeout}
	step.Name, _ = cut(strings.TrimSpace(s.Name), maxName-8)
	if step.Name == "" {
		step.Name = fmt.Sprintf("step %d", s.ID)
	}
	step.Name = job.stepName(step.Name, func(n string) { r.changed(job.Name, element, "another step has this name: it becomes %q", n) })
	database := s.Database
	if database == "" {
		database = "master"
	}
	step.TargetGroup = r.databaseGroup(database)
	if s.DatabaseUser != "" {
		r.lost(job.Name, element, "it runs as the database user %q: write EXECUTE AS into its command, or give it a credential", s.DatabaseUser)
	}
	if s.ProxyID != 0 {
		r.lost(job.Name, element, "it runs under the proxy %d: give it a credential of the agent's configuration", s.ProxyID)
	}
	if s.OutputFile != "" {
		r.lost(job.Name, element, "its output goes to a file: here jobs.job_execution_messages holds it, and an output table what it selects")
	}
	if s.Flags&(8|16) != 0 {
		r.lost(job.Name, element, "its output goes to msdb.dbo.sysjobstepslogs: here jobs.job_execution_messages holds it")
	}
	switch {
	case !strings.EqualFold(s.Subsystem, "TSQL"):
		step.Action = fmt.Sprintf("a step of the subsystem %s", s.Subsystem)
		r.lost(job.Name, element, "the subsystem %s is not T-SQL: the step is created so that it fails; write T-SQL in its place (jobs.sp_update_jobstep)", s.Subsystem)
		step.Command = agentStandIn(fmt.Sprintf("This step was a step of SQL Server Agent's subsystem %s and could not be carried over. Write T-SQL that does the same.", s.Subsystem))
		step.Attempts, step.Interval = 0, 1
	case strings.TrimSpace(s.Command) == "":
		step.Command = "-- The step had no command."
		r.note(job.Name, element, "its command is empty")
	default:
		var tokens []string
		for _, t := range agentToken.FindAllString(s.Command, -1) {
			if !slices.Contains(tokens, t) {
				tokens = append(tokens, t)
			}
		}
		if len(tokens) > 0 {
			r.lost(job.Name, element, "nothing replaces the tokens %s; here there are $(job_name), $(job_id), $(step_id), $(step_name), $(job_execution_id) and others",
				strings.Join(tokens, ", "))
		}
	}
	return step
}

// standInBegin is the beginning of such a command.
const standInBegin = "THROW 50000, "

// agentStandIn returns a T-SQL command that fails with a message.
func agentStandIn(message string) string {
	return standInBegin + tsql.Literal(message) + ", 1;"
}
