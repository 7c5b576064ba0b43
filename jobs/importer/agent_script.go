package importer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/tsql"
)

// maxAgentSteps is the number of steps of one job in a script: conditions may name all steps
// before.
const maxAgentSteps = 500

// MissingJobError reports that the scripts have no job of a name.
type MissingJobError struct{ Name string }

func (e *MissingJobError) Error() string { return fmt.Sprintf("the scripts have no job %q", e.Name) }

// SQLAgentScripts converts jobs of SQL Server Agent from T-SQL that creates them, as SSMS writes it
// (Script Job as, CREATE To): calls of msdb.dbo.sp_add_job, sp_add_jobstep and others with
// constants and variables. Conditions are not evaluated: each call counts. With names, only these
// jobs are converted.
func SQLAgentScripts(documents []Document, names []string, o Options) (*Result, error) {
	r := newSQLAgent(o)
	r.limited = true
	s := &agentScript{r: r, operators: map[string]string{}}
	for _, d := range documents {
		tokens, err := tsql.Scan(string(d.Text))
		if err == nil {
			s.tokens, s.at, s.variables = tokens, 0, map[string]agentValue{}
			err = s.read()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	if len(s.jobs) == 0 {
		return nil, errors.New("the text has no job of SQL Server Agent: want calls of msdb.dbo.sp_add_job, as SSMS writes them (Script Job as, CREATE To)")
	}
	for _, name := range names {
		if s.jobNamed(name) == nil {
			return nil, &MissingJobError{name}
		}
	}
	for _, j := range s.jobs {
		for _, operator := range []*AgentOperator{&j.EmailOperator, &j.NetSendOperator, &j.PageOperator} {
			operator.Address = s.operators[strings.ToLower(operator.Name)]
		}
		if r.full() {
			break
		}
		if len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, j.Name) }) {
			r.agentJob(&j.AgentJob)
		}
	}
	return r.bounded()
}

// agentScript reads such a script.
type agentScript struct {
	r         *Result
	tokens    []tsql.Token
	at        int
	variables map[string]agentValue // by their names in lower case, in this batch
	jobs      []*agentScriptJob
	shared    []AgentSchedule   // of sp_add_schedule
	operators map[string]string // addresses by names in lower case
}

// agentScriptJob is a job, and what others refer to it by.
type agentScriptJob struct {
	AgentJob
	id string // of @job_id, if it is a constant
}

// agentValue is the value of an argument or a variable. A value that is neither known nor a job is
// the result of an expression that is not evaluated.
type agentValue struct {
	text  string
	known bool
	null  bool
	job   *agentScriptJob // of an ID of a job
}

func (s *agentScript) peek(n int) tsql.Token {
	if s.at+n < len(s.tokens) {
		return s.tokens[s.at+n]
	}
	return tsql.Token{Kind: tsql.Separator}
}

func (s *agentScript) symbol(n int, text string) bool {
	t := s.peek(n)
	return t.Kind == tsql.Symbol && t.Text == text
}

func (s *agentScript) read() error {
	for s.at < len(s.tokens) && !s.r.full() {
		switch t := s.peek(0); {
		case t.Kind == tsql.Separator:
			s.variables = map[string]agentValue{}
			s.at++
		case t.Is("DECLARE"):
			s.at++
			s.assignments(true)
		case (t.Is("SET") || t.Is("SELECT")) && s.peek(1).Kind == tsql.Variable:
			s.at++
			s.assignments(false)
		case t.Is("EXEC") || t.Is("EXECUTE"):
			s.at++
			if err := s.call(t.Line); err != nil {
				return err
			}
		default:
			s.at++
		}
	}
	return nil
}

// assignments reads @name [type] [= value], ... of DECLARE, SET and SELECT.
func (s *agentScript) assignments(declared bool) {
	for s.peek(0).Kind == tsql.Variable {
		name := strings.ToLower(s.peek(0).Text)
		s.at++
		if declared {
			s.variables[name] = agentValue{known: true, null: true}
			for s.peek(0).Kind == tsql.Word && !s.statement() { // [AS] type
				s.at++
			}
			if s.symbol(0, "(") {
				s.skipParentheses()
			}
		}
		if s.symbol(0, "=") {
			s.at++
			value := s.expression()
			if s.peek(0).Is("FROM") {
				value = s.lookup()
			}
			s.variables[name] = value
		}
		if !s.symbol(0, ",") {
			return
		}
		s.at++
	}
}

// statement reports whether a word begins a statement that this reader knows.
func (s *agentScript) statement() bool {
	return slices.ContainsFunc([]string{"DECLARE", "SET", "SELECT", "EXEC", "EXECUTE", "BEGIN", "IF", "END", "COMMIT", "GOTO", "FROM", "WHERE"}, s.peek(0).Is)
}

// skipParentheses goes behind the end of what begins with a parenthesis here.
func (s *agentScript) skipParentheses() {
	for depth := 0; s.at < len(s.tokens); {
		if s.symbol(0, "(") {
			depth++
		} else if s.symbol(0, ")") {
			depth--
		} else if s.peek(0).Kind == tsql.Separator {
			return
		}
		s.at++
		if depth == 0 {
			return
		}
	}
}

// lookup reads FROM msdb.dbo.sysjobs WHERE name = 'x': the ID of that job.
func (s *agentScript) lookup() agentValue {
	jobs := false
	for s.at < len(s.tokens) && s.peek(0).Kind != tsql.Separator && !s.symbol(0, ";") {
		t := s.peek(0)
		jobs = jobs || t.Kind == tsql.Word && (strings.EqualFold(t.Text, "sysjobs") || strings.EqualFold(t.Text, "sysjobs_view"))
		if t.Kind == tsql.String && jobs {
			s.at++
			job := s.jobNamed(t.Text)
			return agentValue{job: job, known: job == nil, null: job == nil}
		}
		if t.Kind == tsql.Word && !t.Is("FROM") && !t.Is("WHERE") && s.statement() {
			break
		}
		s.at++
	}
	return agentValue{}
}

// expression reads a value: constants and variables, joined by +. Anything else is not known.
func (s *agentScript) expression() agentValue {
	sum := s.operand()
	for s.symbol(0, "+") {
		s.at++
		next := s.operand()
		sum = agentValue{text: sum.text + next.text, known: sum.known && next.known, null: sum.null || next.null}
	}
	return sum
}

func (s *agentScript) operand() agentValue {
	t := s.peek(0)
	switch {
	case t.Kind == tsql.String || t.Kind == tsql.Number:
		s.at++
		return agentValue{text: t.Text, known: true}
	case t.Kind == tsql.Variable:
		s.at++
		return s.variables[strings.ToLower(t.Text)]
	case s.symbol(0, "-") && s.peek(1).Kind == tsql.Number:
		s.at += 2
		return agentValue{text: "-" + s.tokens[s.at-1].Text, known: true}
	case t.Is("NULL") || t.Is("DEFAULT"):
		s.at++
		return agentValue{known: true, null: true}
	case (t.Is("CHAR") || t.Is("NCHAR")) && s.symbol(1, "(") && s.peek(2).Kind == tsql.Number && s.symbol(3, ")"):
		n, err := strconv.Atoi(s.peek(2).Text)
		s.at += 4
		return agentValue{text: string(rune(n)), known: err == nil && n > 0 && n < 0x10000}
	case s.symbol(0, "("):
		s.skipParentheses()
	case t.Kind == tsql.Word && !s.statement():
		s.at++
		for s.symbol(0, ".") {
			s.at += 2
		}
		if s.symbol(0, "(") {
			s.skipParentheses()
		}
	}
	return agentValue{}
}

// agentCalls are the parameters of the procedures that are read, in their order. Others of msdb are
// reported.
var agentCalls = map[string][]string{
	"sp_add_job": {"job_name", "enabled", "description", "start_step_id", "category_name", "category_id", "owner_login_name", "notify_level_eventlog", "notify_level_email",
		"notify_level_netsend", "notify_level_page", "notify_email_operator_name", "notify_netsend_operator_name", "notify_page_operator_name", "delete_level", "job_id",
		"originating_server"},
	"sp_update_job": {"job_id", "job_name", "new_name", "enabled", "description", "start_step_id"},
	"sp_add_jobstep": {"job_id", "job_name", "step_id", "step_name", "subsystem", "command", "additional_parameters", "cmdexec_success_code", "on_success_action",
		"on_success_step_id", "on_fail_action", "on_fail_step_id", "server", "database_name", "database_user_name", "retry_attempts", "retry_interval", "os_run_priority",
		"output_file_name", "flags", "proxy_id", "proxy_name"},
	"sp_update_jobstep":  {"job_id", "job_name", "step_id"},
	"sp_add_jobschedule": {"job_id", "job_name", "name", "enabled"},
	"sp_add_schedule":    {"schedule_name", "enabled"},
	"sp_attach_schedule": {"job_id", "job_name", "schedule_id", "schedule_name"},
	"sp_add_jobserver":   {"job_id", "job_name", "server_name"},
	"sp_add_category":    {"class", "type", "name"},
	"sp_add_operator":    {"name", "enabled", "email_address", "pager_address"},
	"sp_add_alert":       {"name"},
	"sp_delete_job":      {"job_id", "job_name"},
}

// agentArguments are the arguments of a call, by their names in lower case.
type agentArguments map[string]agentValue

// text returns an argument, or absent if it is missing or NULL.
func (a agentArguments) text(name, absent string) string {
	if v := a[name]; v.known && !v.null {
		return v.text
	}
	return absent
}

// number returns an argument as a number, or absent if it is none.
func (a agentArguments) number(name string, absent int) int {
	if n, err := strconv.Atoi(strings.TrimSpace(a.text(name, ""))); err == nil {
		return n
	}
	return absent
}

// call reads a call of a procedure: [@result =] name [@parameter =] value [OUTPUT], ...
func (s *agentScript) call(line int) error {
	if s.peek(0).Kind == tsql.Variable && s.symbol(1, "=") {
		s.at += 2
	}
	if s.peek(0).Kind != tsql.Word {
		return nil // a string, or a variable with the name of a procedure
	}
	name := ""
	for s.peek(0).Kind == tsql.Word {
		name = strings.ToLower(s.peek(0).Text)
		s.at++
		for s.symbol(0, ".") {
			s.at++
		}
		if s.at > 0 && !(s.tokens[s.at-1].Kind == tsql.Symbol) {
			break
		}
	}
	order, read := agentCalls[name]
	a, outputs := agentArguments{}, map[string]string{}
	for i := 0; ; i++ {
		parameter := ""
		switch {
		case s.peek(0).Kind == tsql.Variable && s.symbol(1, "="):
			parameter = strings.ToLower(strings.TrimPrefix(s.peek(0).Text, "@"))
			s.at += 2
		case i == 0 && !s.argument():
			i = -1
		case i < len(order):
			parameter = order[i]
		}
		if i < 0 {
			break
		}
		variable := s.peek(0)
		before := s.at
		if variable.Kind == tsql.Word && !variable.Is("NULL") && !variable.Is("DEFAULT") && !s.symbol(1, "(") && !s.symbol(1, ".") {
			a[parameter] = agentValue{text: variable.Text, known: true} // a word as an argument is a text
			s.at++
		} else {
			a[parameter] = s.operand()
		}
		if s.peek(0).Is("OUTPUT") || s.peek(0).Is("OUT") {
			s.at++
			if variable.Kind == tsql.Variable {
				outputs[parameter] = strings.ToLower(variable.Text)
			}
		}
		if !s.symbol(0, ",") || s.at == before {
			break
		}
		s.at++
	}
	if !read {
		if strings.HasPrefix(name, "sp_") {
			s.r.note("", fmt.Sprintf("line %d", line), "the call of %s is not read", name)
		}
		return nil
	}
	return s.apply(name, line, a, outputs)
}

// argument reports whether a value follows.
func (s *agentScript) argument() bool {
	t := s.peek(0)
	return t.Kind == tsql.Variable || t.Kind == tsql.String || t.Kind == tsql.Number || t.Is("NULL") || t.Is("DEFAULT") || s.symbol(0, "-")
}

func (s *agentScript) jobNamed(name string) *agentScriptJob {
	for _, j := range s.jobs {
		if strings.EqualFold(j.Name, name) {
			return j
		}
	}
	return nil
}

// job returns the job that a call names; nil if the script has not made it.
func (s *agentScript) job(a agentArguments) *agentScriptJob {
	if id := a["job_id"]; id.job != nil {
		return id.job
	} else if id.known && !id.null {
		for _, j := range s.jobs {
			if j.id != "" && strings.EqualFold(j.id, id.text) {
				return j
			}
		}
	}
	return s.jobNamed(a.text("job_name", ""))
}

// apply does what a call of a procedure does.
func (s *agentScript) apply(name string, line int, a agentArguments, outputs map[string]string) error {
	place := fmt.Sprintf("line %d", line)
	for parameter, v := range a {
		if !v.known && v.job == nil && parameter != "owner_login_name" && parameter != "job_id" && parameter != "active_start_date" {
			s.r.lost("", place, "%s: the value of @%s is not known: only constants and variables with constants are read", name, parameter)
		}
	}
	switch name {
	case "sp_add_job":
		j := &agentScriptJob{id: a.text("job_id", "")}
		j.Name, j.Enabled, j.StartStepID = a.text("job_name", ""), true, 1
		s.jobs = append(s.jobs, j)
		j.set(a)
		if v := outputs["job_id"]; v != "" {
			s.variables[v] = agentValue{job: j}
		}
		if len(s.jobs) > maxSteps {
			return fmt.Errorf("it holds more than %d jobs; divide it", maxSteps)
		}
		return nil
	case "sp_add_schedule":
		s.shared = append(s.shared, s.schedule(a, a.text("schedule_name", "")))
		return nil
	case "sp_add_operator":
		s.operators[strings.ToLower(a.text("name", ""))] = a.text("email_address", a.text("pager_address", a.text("netsend_address", "")))
		return nil
	case "sp_add_category":
		return nil
	}
	j := s.job(a)
	if j == nil {
		if name != "sp_delete_job" && name != "sp_add_alert" {
			s.r.lost("", place, "%s: the script has not made this job", name)
		}
		return nil
	}
	switch name {
	case "sp_update_job":
		j.Name = a.text("new_name", j.Name)
		j.set(a)
	case "sp_add_jobstep":
		if len(j.Steps) == maxAgentSteps {
			return fmt.Errorf("%s: the job has more than %d steps; divide it", place, maxAgentSteps)
		}
		step := AgentStep{ID: len(j.Steps) + 1, Subsystem: "TSQL", OnSuccess: quitWithSuccess, OnFail: quitWithFailure}
		step.set(a)
		for i := range j.Steps { // it is put before the step that has its id
			if j.Steps[i].ID >= step.ID && slices.ContainsFunc(j.Steps, func(other AgentStep) bool { return other.ID == step.ID }) {
				j.Steps[i].ID++
			}
		}
		j.Steps = append(j.Steps, step)
	case "sp_update_jobstep":
		i := slices.IndexFunc(j.Steps, func(other AgentStep) bool { return other.ID == a.number("step_id", 0) })
		if i < 0 {
			s.r.lost("", place, "sp_update_jobstep: the job has no step %s", a.text("step_id", ""))
			return nil
		}
		j.Steps[i].set(a)
	case "sp_add_jobschedule":
		j.Schedules = append(j.Schedules, s.schedule(a, a.text("name", "")))
	case "sp_attach_schedule":
		i := slices.IndexFunc(s.shared, func(h AgentSchedule) bool { return strings.EqualFold(h.Name, a.text("schedule_name", "")) })
		if i < 0 {
			s.r.lost("", place, "sp_attach_schedule: the script has not made this schedule, or names it by its ID")
			return nil
		}
		j.Schedules = append(j.Schedules, s.shared[i])
	case "sp_add_alert":
		j.Alerts = append(j.Alerts, a.text("name", ""))
	case "sp_delete_job":
		s.jobs = slices.DeleteFunc(s.jobs, func(other *agentScriptJob) bool { return other == j })
	case "sp_add_jobserver":
		if server := a.text("server_name", "(local)"); !localServer.MatchString(server) {
			s.r.note(j.Name, "sp_add_jobserver", "its target server is %s: name it with --server, or --target-group", server)
		}
	}
	return nil
}

// localServer matches the names of the server of SQL Server Agent itself.
var localServer = regexp.MustCompile(`(?i)^\(local\)$|^\.$`)

// set sets what a call of sp_add_job or sp_update_job gives.
func (j *agentScriptJob) set(a agentArguments) {
	j.Enabled = a.number("enabled", map[bool]int{true: 1}[j.Enabled]) != 0
	j.Description, j.StartStepID = a.text("description", j.Description), a.number("start_step_id", j.StartStepID)
	j.Category = a.text("category_name", j.Category)
	j.NotifyEmail, j.NotifyNetSend = a.number("notify_level_email", j.NotifyEmail), a.number("notify_level_netsend", j.NotifyNetSend)
	j.NotifyPage, j.DeleteLevel = a.number("notify_level_page", j.NotifyPage), a.number("delete_level", j.DeleteLevel)
	j.EmailOperator.Name = a.text("notify_email_operator_name", j.EmailOperator.Name)
	j.NetSendOperator.Name = a.text("notify_netsend_operator_name", j.NetSendOperator.Name)
	j.PageOperator.Name = a.text("notify_page_operator_name", j.PageOperator.Name)
}

// set sets what a call of sp_add_jobstep or sp_update_jobstep gives.
func (s *AgentStep) set(a agentArguments) {
	s.ID, s.Name, s.Subsystem = a.number("step_id", s.ID), a.text("step_name", s.Name), a.text("subsystem", s.Subsystem)
	s.Command = a.text("command", s.Command)
	s.OnSuccess, s.OnSuccessStep = a.number("on_success_action", s.OnSuccess), a.number("on_success_step_id", s.OnSuccessStep)
	s.OnFail, s.OnFailStep = a.number("on_fail_action", s.OnFail), a.number("on_fail_step_id", s.OnFailStep)
	s.Database, s.DatabaseUser = a.text("database_name", s.Database), a.text("database_user_name", s.DatabaseUser)
	s.RetryAttempts, s.RetryInterval = a.number("retry_attempts", s.RetryAttempts), a.number("retry_interval", s.RetryInterval)
	s.OutputFile, s.Flags = a.text("output_file_name", s.OutputFile), a.number("flags", s.Flags)
	s.ProxyID, s.Proxy = a.number("proxy_id", s.ProxyID), a.text("proxy_name", s.Proxy)
}

// schedule returns the schedule of a call, with the defaults of its procedure.
func (s *agentScript) schedule(a agentArguments, name string) AgentSchedule {
	today := s.r.opts.Now.Year()*10000 + int(s.r.opts.Now.Month())*100 + s.r.opts.Now.Day()
	return AgentSchedule{
		Name: name, Enabled: a.number("enabled", 1) != 0, FreqType: a.number("freq_type", 1), FreqInterval: a.number("freq_interval", 0),
		FreqSubdayType: a.number("freq_subday_type", 0), FreqSubdayInterval: a.number("freq_subday_interval", 0),
		FreqRelativeInterval: a.number("freq_relative_interval", 0), FreqRecurrenceFactor: a.number("freq_recurrence_factor", 0),
		ActiveStartDate: a.number("active_start_date", today), ActiveEndDate: a.number("active_end_date", openEnd),
		ActiveStartTime: a.number("active_start_time", 0), ActiveEndTime: a.number("active_end_time", 235959),
	}
}
