package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Options holds the settings of an import that are not part of the input.
type Options struct {
	// Now is the time of the import. A schedule that has ended by then stays ended.
	Now time.Time
	// Zone is the IANA name of the time zone of the original system's clock times: of the server
	// of SQL Server Agent, of the machine of a crontab, of the controller of Kubernetes. Empty
	// means UTC. See [Zone].
	Zone string
	// TargetGroup is the target group of every step. If it is empty, the group is "imported", or
	// one group for each database for SQL Server Agent.
	TargetGroup string
	// Server is the name with which agents connect to the SQL Server of SQL Server Agent's jobs,
	// or to the one on the machine of a command.
	Server string
	// AdminDatabase is the database in the place of master, msdb, model and tempdb for steps of SQL
	// Server Agent. Empty means that they stay in these.
	AdminDatabase string
	// KeepCommands writes the command lines of other systems into the script, as comments. They
	// may hold passwords.
	KeepCommands bool
	// Crontab is the form of a crontab.
	Crontab CrontabForm
	// Script returns the text of a file of T-SQL that a command reads, by its path there. found is
	// false if there is no such file here. Nil means that no file is read.
	Script func(name string) (text string, found bool, err error)
}

// Effect classifies the result of the import for one element.
type Effect string

const (
	// Lost means that the element has no counterpart and that the script omits it.
	Lost Effect = "lost"
	// Changed means that the script contains the element in another form, which the message
	// describes.
	Changed Effect = "changed"
	// Note means that nothing is lost, but that the reader should know of a difference.
	Note Effect = "note"
	// ToSet means that the reader has to supply a value that an import cannot have: a secret, or
	// an entry of the agent's configuration.
	ToSet Effect = "to set"
)

// Finding holds one line of the report.
type Finding struct {
	Effect Effect `json:"effect"`
	// Job is empty for a finding about the whole input.
	Job string `json:"job,omitempty"`
	// Element is the path of the element in the names of the original system.
	Element string `json:"element"`
	Message string `json:"message"`
}

// String returns the finding as one line of text.
func (f Finding) String() string {
	where := f.Element
	if f.Job != "" {
		where = fmt.Sprintf("job %q: %s", f.Job, f.Element)
	}
	return fmt.Sprintf("%s: %s: %s", f.Effect, where, f.Message)
}

// Result holds the jobs and the findings of an import.
type Result struct {
	Jobs     []Job     `json:"jobs"`
	Findings []Finding `json:"findings"`

	source  string
	opts    Options
	names   names           // of Jobs
	secrets map[string]bool // names of secrets that were asked for
	// location holds the rules of opts.Zone, for the imports that compute with clock times.
	location *time.Location
	// limited means that the source is a file, which a stranger may have written. Servers, which
	// their administrators import, have no limits.
	limited bool
	// steps and schedules count those of all jobs; expansion, the bytes of variables' values;
	// dates, those of iCalendar.
	steps, schedules, expansion, dates int
}

// Job holds a job as the control database stores it.
type Job struct {
	Name        string     `json:"job_name"`
	Description string     `json:"description,omitempty"`
	Steps       []Step     `json:"steps,omitempty"`
	Schedules   []Schedule `json:"schedules,omitempty"`
	Alerts      []Alert    `json:"alerts,omitempty"`
	// Comments are texts about what the job does not have.
	Comments []string `json:"comments,omitempty"`
	// held means that its schedules stay disabled until the reader has looked at it.
	held bool

	stepNames, scheduleNames names
}

// Step holds a step of a job.
type Step struct {
	Name string `json:"step_name"`
	// Type is the type of the command; empty means T-SQL.
	Type    action.Type `json:"command_type,omitempty"`
	Command string      `json:"command,omitempty"`
	// TargetGroup has no name if the step is an action that runs once, on its endpoint.
	TargetGroup TargetGroup `json:"target_group"`
	// Attempts is the number of retries after the first attempt. Interval is the wait between
	// them, and Timeout the time limit of the step, both in seconds.
	Attempts int `json:"retry_attempts"`
	Interval int `json:"retry_interval_seconds"`
	Timeout  int `json:"step_timeout_seconds"`
	// MaxInterval is the longest wait if each wait is twice as long as the one before; 0 if all
	// waits are equal.
	MaxInterval int `json:"maximum_retry_interval_seconds,omitempty"`
	// After names the steps that must be over before, and RunWhen the result that they must have;
	// both are empty for a step that runs when the step before has succeeded.
	After   []string `json:"after,omitempty"`
	RunWhen string   `json:"run_when,omitempty"`
	// OnUnknownOutcome is empty for the default.
	OnUnknownOutcome string `json:"on_unknown_outcome,omitempty"`
	// Action describes the work of an original step that could not be converted. A step without a
	// command appears in the script only as a proposal in a comment.
	Action string `json:"action,omitempty"`
	// Proposal is the command of a step in a comment; empty for one that the reader has to find.
	Proposal string `json:"proposal,omitempty"`
	// Original is what the step was in its system, for a comment beside it.
	Original string `json:"original,omitempty"`
	// unwritten means that the step can only wait or fail until the reader has done something.
	unwritten bool
}

// Alert holds a rule of an alert about the runs of a job.
type Alert struct {
	Name string `json:"alert_name"`
	// Lifecycles are those of the runs that raise it, separated by commas.
	Lifecycles string `json:"lifecycles"`
	// Operators says who was told there, for a comment.
	Operators string `json:"operators,omitempty"`
}

// TargetGroup holds the target group of a step. Without a server the script creates an empty
// group, to which the user adds databases.
type TargetGroup struct {
	Name     string `json:"target_group_name"`
	Server   string `json:"server_name,omitempty"`
	Database string `json:"database_name,omitempty"`
}

// emptyGroup is the target group that stays without databases: steps on it succeed, and do nothing.
const emptyGroup = "imported (no databases)"

// Schedule holds a named schedule of a job.
type Schedule struct {
	Name    string        `json:"schedule_name"`
	Kind    schedule.Kind `json:"kind"`
	Spec    string        `json:"spec"`
	Zone    string        `json:"time_zone,omitempty"`
	CatchUp string        `json:"catch_up,omitempty"`
	Overlap string        `json:"overlap,omitempty"`
	// Parameters are the parameters of the runs, a JSON object; empty for none.
	Parameters string `json:"parameters,omitempty"`
	Enabled    bool   `json:"enabled"`
	faulty     bool   // the script contains it only as a comment
	finished   bool   // it has ended in its original system
}

// Faulty reports whether the schedule cannot be created: the script has it only as a comment.
func (s *Schedule) Faulty() bool { return s.faulty }

// IsEmptyGroup reports whether a target group is to stay without databases.
func (r *Result) IsEmptyGroup(g TargetGroup) bool { return g.Name == emptyGroup }

// These are limits of the control database.
const (
	maxName        = model.MaxName
	maxDescription = model.MaxDescription
	maxTimeout     = 2147483 // seconds
	defaultTimeout = 43200   // seconds
	maxRetry       = 2147483 // seconds
)

// Limits of an import of files. A line of a file may mean many steps or schedules, and each of
// these takes a tenth of a millisecond.
const (
	maxSteps     = 5_000
	maxSchedules = 5_000
	maxFindings  = 100_000
	// maxExpanded is the length of the variables' values in all commands, in bytes. Commands
	// behind that are not certain: "$A$A" may be longer than the file, and without a limit the
	// square of the file's length.
	maxExpanded = 16 << 20
)

// full reports whether a limit is exceeded. Loops over parts of a file then end.
func (r *Result) full() bool {
	return r.limited && (r.steps > maxSteps || r.schedules > maxSchedules || len(r.Findings) > maxFindings)
}

// bounded returns the result, or an error if a limit has cut it.
func (r *Result) bounded() (*Result, error) {
	if r.full() {
		return nil, fmt.Errorf("it holds too much: at most %d steps, %d schedules and %d lines of report are imported at once; divide it", maxSteps, maxSchedules, maxFindings)
	}
	return r, nil
}

// expanded returns a variable that becomes part of a command.
func (r *Result) expanded(v variable) variable {
	if r.expansion += len(v.value); r.expansion > maxExpanded {
		return variable{set: v.set}
	}
	return v
}

func (r *Result) add(effect Effect, job, element, format string, args ...any) {
	if r.full() {
		return
	}
	r.Findings = append(r.Findings, Finding{effect, job, element, fmt.Sprintf(format, args...)})
}

func (r *Result) lost(job, element, format string, args ...any) {
	r.add(Lost, job, element, format, args...)
}

func (r *Result) changed(job, element, format string, args ...any) {
	r.add(Changed, job, element, format, args...)
}

func (r *Result) toSet(job, element, format string, args ...any) {
	r.add(ToSet, job, element, format, args...)
}

func (r *Result) note(job, element, format string, args ...any) {
	r.add(Note, job, element, format, args...)
}

// Count returns the number of findings with an effect.
func (r *Result) Count(effect Effect) int {
	n := 0
	for _, f := range r.Findings {
		if f.Effect == effect {
			n++
		}
	}
	return n
}

// Totals returns the numbers of steps and schedules that the script creates, and the number of
// steps that the user has to write: those that are only a comment, and those that wait or fail
// until then.
func (r *Result) Totals() (steps, toWrite, schedules int) {
	for _, j := range r.Jobs {
		for _, s := range j.Steps {
			if s.Command == "" || s.unwritten {
				toWrite++
			}
			if s.Command != "" {
				steps++
			}
		}
		for _, s := range j.Schedules {
			if !s.faulty {
				schedules++
			}
		}
	}
	return steps, toWrite, schedules
}

// Summary returns the totals in words.
func (r *Result) Summary() string {
	steps, toWrite, schedules := r.Totals()
	text := fmt.Sprintf("%s, %s, %s", wording.Count(len(r.Jobs), "job"), wording.Count(steps, "step"), wording.Count(schedules, "schedule"))
	if toWrite > 0 {
		text += fmt.Sprintf("; %s to write", wording.Count(toWrite, "step"))
	}
	return text
}

// cut shortens s to n characters as SQL Server counts them (UTF-16 code units), and reports
// whether s was longer.
func cut(s string, n int) (string, bool) {
	head := wording.Head(s, n, wording.UTF16)
	if len(head) == len(s) {
		return s, false
	}
	return strings.TrimRight(head, " "), true
}

// jobName returns a name that is valid in the control database and unique among the jobs of the
// import. spare replaces an empty name.
func (r *Result) jobName(name, spare string) string {
	name = strings.TrimSpace(strings.ToValidUTF8(name, string(utf8.RuneError)))
	if name == "" {
		name = spare
		r.changed(name, "name", "the job has no name: it is named %q", name)
	}
	given := name
	if short, was := cut(name, maxName); was {
		name = short
		r.changed(name, "name", "%q is longer than %d characters and was cut", given, maxName)
	}
	return r.jobNames().unique(name, func(n string) {
		r.changed(n, "name", "another job of this import is named %q: this one becomes %q", given, n)
	})
}

func (r *Result) jobNames() *names {
	for _, j := range r.Jobs[r.names.count:] {
		r.names.add(j.Name)
	}
	return &r.names
}

// stepName returns a name that is unique among the steps of the job. It calls renamed with a
// changed name.
func (j *Job) stepName(name string, renamed func(string)) string {
	for _, s := range j.Steps[j.stepNames.count:] {
		j.stepNames.add(s.Name)
	}
	return j.stepNames.unique(name, renamed)
}

// scheduleName returns a name that is valid in the control database and unique among the schedules
// of the job.
func (r *Result) scheduleName(job *Job, element, name string) string {
	name = strings.TrimSpace(strings.ToValidUTF8(name, string(utf8.RuneError)))
	given := name
	if short, was := cut(name, maxName-16); was {
		name = short
		r.changed(job.Name, element, "the name %q is too long and was cut", given)
	}
	for _, s := range job.Schedules[job.scheduleNames.count:] {
		job.scheduleNames.add(s.Name)
	}
	return job.scheduleNames.unique(name, func(n string) {
		r.changed(job.Name, element, "another schedule is named %q: this one becomes %q", given, n)
	})
}

// placeholder returns the target group for steps whose databases are unknown.
func (r *Result) placeholder() TargetGroup {
	if r.opts.TargetGroup != "" {
		return TargetGroup{Name: r.opts.TargetGroup}
	}
	return TargetGroup{Name: "imported"}
}

// databaseGroup returns the target group for steps that run in one database.
func (r *Result) databaseGroup(database string) TargetGroup {
	return r.serverGroup(r.opts.Server, database)
}

// serverGroup returns the target group for steps that run in one database of a server.
func (r *Result) serverGroup(server, database string) TargetGroup {
	if r.opts.TargetGroup != "" {
		return TargetGroup{Name: r.opts.TargetGroup}
	}
	name := server + "/" + database
	if short, was := cut(name, maxName-10); was {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name)) // Write of hash.Hash never fails
		name = fmt.Sprintf("%s-%08x", short, h.Sum32())
	}
	return TargetGroup{Name: name, Server: server, Database: database}
}

// addSchedules adds the schedules in the place of one schedule of the other system, which together
// are due when that one is. If there are several, their names have numbers.
func (r *Result) addSchedules(job *Job, element, name string, list []Schedule) {
	if len(list) > 1 {
		r.changed(job.Name, element, "it becomes %d schedules, which together are due when it is", len(list))
	}
	for i, s := range list {
		s.Name = name
		if len(list) > 1 {
			short, _ := cut(name, maxName-24)
			s.Name = fmt.Sprintf("%s [%d of %d]", short, i+1, len(list))
		}
		s.Name = r.scheduleName(job, element, s.Name)
		r.addSchedule(job, element, element, s)
	}
}

// addSchedule parses a schedule as the agent does, reports its faults, and adds it to the job. A
// schedule with faults appears in the script only as a comment. base is the prefix of the paths of
// the faults.
func (r *Result) addSchedule(job *Job, element, base string, s Schedule) {
	if r.schedules++; r.full() {
		return
	}
	if !s.finished && (job.held || slices.ContainsFunc(job.Steps, func(s Step) bool { return s.unwritten })) {
		s.Enabled = false // its runs would wait one beside the other, or do a part of the work
	}
	plan, err := schedule.Parse(s.Kind, []byte(s.Spec), schedule.Options{Zone: s.Zone, Created: r.opts.Now})
	var faulty *schedule.Error
	if errors.As(err, &faulty) {
		s.faulty = true
		for _, f := range faulty.Faults {
			path := strings.Trim(base+"."+f.Path, ".")
			if path == "" {
				path = element
			}
			text := "the schedule is not created: want " + f.Allowed
			if f.Nearest != "" {
				text += "; try " + f.Nearest
			}
			r.lost(job.Name, path, "%s", text)
		}
	}
	if err == nil {
		for _, w := range plan.Warnings {
			r.note(job.Name, element, "%s", w)
		}
		if _, due := plan.Next(r.opts.Now.Add(-time.Nanosecond)); !due && !s.finished {
			r.note(job.Name, element, "nothing is due after the import: the schedule becomes Completed")
		}
	}
	job.Schedules = append(job.Schedules, s)
}

// Script returns the T-SQL that creates the jobs. Each job is one batch and one transaction.
func (r *Result) Script() string {
	var b strings.Builder
	b.WriteString(tsql.Comment("", fmt.Sprintf("From %s: %s. The report and comments below list what has no counterpart and what you have to set.", r.source, r.Summary())))
	b.WriteString(tsql.Comment("", "Run it in the control database. Each job is one transaction: it is created whole or not at all, for example because its name is taken."))
	for _, f := range r.Findings {
		if f.Job == "" {
			b.WriteString(tsql.Comment("", f.String()))
		}
	}
	b.WriteString("SET NOCOUNT ON;\nSET XACT_ABORT ON;\nGO\n")
	r.scriptGroups(&b)
	byJob := map[string][]Finding{}
	for _, f := range r.Findings {
		byJob[f.Job] = append(byJob[f.Job], f)
	}
	for i := range r.Jobs {
		r.scriptJob(&b, &r.Jobs[i], byJob[r.Jobs[i].Name])
	}
	return b.String()
}

// scriptGroups writes the T-SQL that creates the target groups. Groups that already exist stay
// unchanged.
func (r *Result) scriptGroups(b *strings.Builder) {
	done := map[string]bool{}
	for _, j := range r.Jobs {
		for _, s := range j.Steps {
			g := s.TargetGroup
			if g.Name == "" || done[g.Name] {
				continue
			}
			done[g.Name] = true
			b.WriteString("\n")
			switch {
			case g.Name == emptyGroup:
				b.WriteString(tsql.Comment("", "It stays empty: steps on it succeed at once, so that the steps after them can go on."))
			case g.Server == "":
				b.WriteString(tsql.Comment("", "A place for the databases on which the jobs are to run: jobs.sp_add_target_group_member adds them."))
			}
			fmt.Fprintf(b, "DECLARE @group NVARCHAR(128) = %s;\n", tsql.Expression(g.Name))
			member := ""
			if g.Server != "" {
				fmt.Fprintf(b, "DECLARE @server NVARCHAR(256) = %s;\nDECLARE @database NVARCHAR(128) = %s;\n", tsql.Expression(g.Server), tsql.Expression(g.Database))
				member = "    EXEC jobs.sp_add_target_group_member @target_group_name = @group, @target_type = N'SqlDatabase', @server_name = @server, @database_name = @database;\n"
			}
			b.WriteString("IF NOT EXISTS (SELECT 1 FROM jobs.target_groups WHERE target_group_name = @group)\nBEGIN\n" +
				"    EXEC jobs.sp_add_target_group @target_group_name = @group;\n" + member + "END;\nGO\n")
		}
	}
}

// scriptJob writes the T-SQL that creates one job, behind what was found about the job. The job's
// own interval schedule stays disabled, because the named schedules start the job.
func (r *Result) scriptJob(b *strings.Builder, j *Job, findings []Finding) {
	b.WriteString("\n")
	for _, f := range findings {
		b.WriteString(tsql.Comment("", f.String()))
	}
	b.WriteString("BEGIN TRANSACTION;\n")
	texts := 0
	text := func(c *tsql.Call, name, value string) *tsql.Call {
		texts++
		return c.LongText(name, fmt.Sprintf("text_%d", texts), value)
	}
	call := func(procedure string) *tsql.Call { return text(tsql.NewCall(procedure), "job_name", j.Name) }
	add := call("jobs.sp_add_job")
	if j.Description != "" {
		text(add, "description", j.Description)
	}
	b.WriteString(add.String() + "\n")
	for _, s := range j.Steps {
		c := text(call("jobs.sp_add_jobstep"), "step_name", s.Name)
		c.Optional("command_type", string(s.Type))
		text(c, "command", cmp.Or(s.Command, cmp.Or(s.Proposal, "write here T-SQL that does the same")))
		if s.TargetGroup.Name != "" {
			text(c, "target_group_name", s.TargetGroup.Name)
		}
		longest, multiplier := s.Interval, "1.0"
		if s.MaxInterval > 0 {
			longest, multiplier = s.MaxInterval, "2.0"
		}
		c.Number("initial_retry_interval_seconds", s.Interval).Number("maximum_retry_interval_seconds", longest).Raw("retry_interval_backoff_multiplier", multiplier)
		c.Number("retry_attempts", s.Attempts).Number("step_timeout_seconds", s.Timeout)
		if s.After != nil {
			text(c, "after", afterList(s.After))
		}
		c.Optional("run_when", s.RunWhen)
		if s.Original != "" {
			b.WriteString(tsql.Comment("", fmt.Sprintf("The step %q was:", s.Name)) + tsql.Comment("    ", s.Original))
		}
		if s.Command == "" {
			b.WriteString(tsql.Comment("", "The step to write, which was: "+s.Action+"\n"+c.String()))
			continue
		}
		b.WriteString(c.String() + "\n")
		if s.OnUnknownOutcome != "" {
			options := text(call("jobs.sp_set_jobstep_options"), "step_name", s.Name).Text("on_unknown_outcome", s.OnUnknownOutcome)
			b.WriteString(options.String() + "\n")
		}
	}
	for _, s := range j.Schedules {
		c := text(call("jobs.sp_add_schedule"), "schedule_name", s.Name).Text("kind", string(s.Kind))
		text(c, "spec", s.Spec).Optional("time_zone", s.Zone).Optional("catch_up", s.CatchUp).Optional("overlap", s.Overlap).Bit("enabled", s.Enabled)
		if s.Parameters != "" {
			text(c, "parameters", s.Parameters)
		}
		if s.faulty {
			b.WriteString(tsql.Comment("", "Not created, because of the faults above:\n"+c.String()))
		} else {
			b.WriteString(c.String() + "\n")
		}
	}
	for _, a := range j.Alerts {
		if a.Operators != "" {
			b.WriteString(tsql.Comment("", a.Operators))
		}
		c := text(tsql.NewCall("jobs.sp_add_alert"), "alert_name", a.Name).Text("condition", "RunEnded")
		b.WriteString(text(c, "job_name", j.Name).Text("lifecycles", a.Lifecycles).String() + "\n")
	}
	for _, text := range j.Comments {
		b.WriteString(tsql.Comment("", text))
	}
	b.WriteString("COMMIT TRANSACTION;\nGO\n")
}

// afterList returns names of steps as @after takes them: one name, or a JSON array.
func afterList(names []string) string {
	if len(names) == 1 && !strings.ContainsAny(names[0], "[,") {
		return names[0]
	}
	text, err := json.Marshal(names)
	if err != nil { // cannot fail: they are texts
		return ""
	}
	return string(text)
}
