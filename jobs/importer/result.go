package importer

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/tsql"
)

// Options is what the input does not say.
type Options struct {
	// Now is the moment of the import: a schedule that has ended by then stays ended.
	Now time.Time
	// Zone is the IANA name of the zone in which SQL Server Agent's clock times are; empty: UTC.
	// See [Zone].
	Zone string
	// TargetGroup is the target group that steps name. Empty: "imported", or for SQL Server Agent a
	// group for each database.
	TargetGroup string
	// Server is the name by which agents reach the SQL Server of SQL Server Agent's jobs.
	Server string
}

// Effect says what became of an element.
type Effect string

const (
	// Lost: the element has no counterpart, and the script leaves it out.
	Lost Effect = "lost"
	// Changed: the script has it in another form, which the message names.
	Changed Effect = "changed"
	// Note: nothing is lost, but the change is worth knowing.
	Note Effect = "note"
)

// Finding is one line of the report.
type Finding struct {
	Effect Effect `json:"effect"`
	// Job is empty for what concerns the whole input.
	Job string `json:"job,omitempty"`
	// Element is the element's path, as its own system names it.
	Element string `json:"element"`
	Message string `json:"message"`
}

// String is the line.
func (f Finding) String() string {
	where := f.Element
	if f.Job != "" {
		where = fmt.Sprintf("job %q: %s", f.Job, f.Element)
	}
	return fmt.Sprintf("%s: %s: %s", f.Effect, where, f.Message)
}

// Result is what an import makes.
type Result struct {
	Jobs     []Job     `json:"jobs"`
	Findings []Finding `json:"findings"`

	source string
	opts   Options
}

// Job is a job as the control database stores it.
type Job struct {
	Name        string     `json:"job_name"`
	Description string     `json:"description,omitempty"`
	Steps       []Step     `json:"steps,omitempty"`
	Schedules   []Schedule `json:"schedules,omitempty"`
}

// Step is a step of a job.
type Step struct {
	Name        string      `json:"step_name"`
	Command     string      `json:"command,omitempty"`
	TargetGroup TargetGroup `json:"target_group"`
	// Attempts are retries after the first attempt, Interval the seconds between them.
	Attempts int `json:"retry_attempts"`
	Interval int `json:"retry_interval_seconds"`
	Timeout  int `json:"step_timeout_seconds"`
	// Action says what the step did where that was no T-SQL. A step without a command is only
	// proposed, in a comment.
	Action string `json:"action,omitempty"`
}

// TargetGroup is a group that a step names. Without a server it is a place to be filled.
type TargetGroup struct {
	Name     string `json:"target_group_name"`
	Server   string `json:"server_name,omitempty"`
	Database string `json:"database_name,omitempty"`
}

// Schedule is a named schedule.
type Schedule struct {
	Name     string        `json:"schedule_name"`
	Kind     schedule.Kind `json:"kind"`
	Spec     string        `json:"spec"`
	Zone     string        `json:"time_zone,omitempty"`
	CatchUp  string        `json:"catch_up,omitempty"`
	Overlap  string        `json:"overlap,omitempty"`
	Enabled  bool          `json:"enabled"`
	faulty   bool          // not called, only shown
	finished bool          // Completed where it comes from
}

// Limits of the control database.
const (
	maxName        = 128
	maxDescription = 512
	maxTimeout     = 2147483 // seconds
	maxRetry       = 2147483 // seconds
)

func (r *Result) add(effect Effect, job, element, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{effect, job, element, fmt.Sprintf(format, args...)})
}

func (r *Result) lost(job, element, format string, args ...any) {
	r.add(Lost, job, element, format, args...)
}

func (r *Result) changed(job, element, format string, args ...any) {
	r.add(Changed, job, element, format, args...)
}

func (r *Result) note(job, element, format string, args ...any) {
	r.add(Note, job, element, format, args...)
}

// Count is how many findings have an effect.
func (r *Result) Count(effect Effect) int {
	n := 0
	for _, f := range r.Findings {
		if f.Effect == effect {
			n++
		}
	}
	return n
}

// Totals are how many steps and schedules the script creates, and how many steps are to be written.
func (r *Result) Totals() (steps, toWrite, schedules int) {
	for _, j := range r.Jobs {
		for _, s := range j.Steps {
			if s.Command == "" {
				toWrite++
			} else {
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

// Summary is what the script creates, in words.
func (r *Result) Summary() string {
	steps, toWrite, schedules := r.Totals()
	text := fmt.Sprintf("%s, %s, %s", counted(len(r.Jobs), "job"), counted(steps, "step"), counted(schedules, "schedule"))
	if toWrite > 0 {
		text += fmt.Sprintf("; %s to write", counted(toWrite, "step"))
	}
	return text
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// cut shortens a text to n characters as SQL Server counts them (UTF-16 code units).
func cut(s string, n int) (string, bool) {
	length := 0
	for i, r := range s {
		units := 1
		if r > 0xFFFF {
			units = 2
		}
		if length += units; length > n {
			return strings.TrimRight(s[:i], " "), true
		}
	}
	return s, false
}

// jobName makes a name that the control database takes and that no other job of the import has.
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
	return unique(name, func(n string) bool {
		for _, j := range r.Jobs {
			if strings.EqualFold(j.Name, n) {
				return true
			}
		}
		return false
	}, func(n string) {
		r.changed(n, "name", "another job of this import is named %q: this one becomes %q", given, n)
	})
}

// scheduleName is the same for the schedules of a job.
func (r *Result) scheduleName(job *Job, element, name string) string {
	name = strings.TrimSpace(strings.ToValidUTF8(name, string(utf8.RuneError)))
	given := name
	if short, was := cut(name, maxName-16); was {
		name = short
		r.changed(job.Name, element, "the name %q is too long and was cut", given)
	}
	return unique(name, func(n string) bool {
		for _, s := range job.Schedules {
			if strings.EqualFold(s.Name, n) {
				return true
			}
		}
		return false
	}, func(n string) {
		r.changed(job.Name, element, "another schedule is named %q: this one becomes %q", given, n)
	})
}

// unique appends a number to a name that is taken.
func unique(name string, taken func(string) bool, renamed func(string)) string {
	if !taken(name) {
		return name
	}
	for i := 2; ; i++ {
		suffix := fmt.Sprintf(" (%d)", i)
		base, _ := cut(name, maxName-len(suffix))
		if candidate := base + suffix; !taken(candidate) {
			renamed(candidate)
			return candidate
		}
	}
}

// placeholder is the target group of steps that no database is known for.
func (r *Result) placeholder() TargetGroup {
	if r.opts.TargetGroup != "" {
		return TargetGroup{Name: r.opts.TargetGroup}
	}
	return TargetGroup{Name: "imported"}
}

// databaseGroup is the target group of one database.
func (r *Result) databaseGroup(database string) TargetGroup {
	if r.opts.TargetGroup != "" {
		return TargetGroup{Name: r.opts.TargetGroup}
	}
	name := r.opts.Server + "/" + database
	if short, was := cut(name, maxName-10); was {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name)) // never fails
		name = fmt.Sprintf("%s-%08x", short, h.Sum32())
	}
	return TargetGroup{Name: name, Server: r.opts.Server, Database: database}
}

// addSchedule reads a schedule as the agent will, reports its faults, and adds it to the job. A
// schedule with faults is only shown. The paths of its faults follow base.
func (r *Result) addSchedule(job *Job, element, base string, s Schedule) {
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

// Script is the T-SQL that creates the jobs. Each job is one batch and one transaction.
func (r *Result) Script() string {
	var b strings.Builder
	b.WriteString(tsql.Comment("", fmt.Sprintf("From %s: %s. What has no counterpart stands in the report, and in comments below.", r.source, r.Summary())))
	b.WriteString(tsql.Comment("", "Run it in the control database. Each job is one transaction: it is created whole or not at all, for example because its name is taken."))
	for _, f := range r.Findings {
		if f.Job == "" {
			b.WriteString(tsql.Comment("", f.String()))
		}
	}
	b.WriteString("SET NOCOUNT ON;\nSET XACT_ABORT ON;\nGO\n")
	r.scriptGroups(&b)
	for i := range r.Jobs {
		r.scriptJob(&b, &r.Jobs[i])
	}
	return b.String()
}

// scriptGroups writes the target groups; those that exist are left as they are.
func (r *Result) scriptGroups(b *strings.Builder) {
	done := map[string]bool{}
	for _, j := range r.Jobs {
		for _, s := range j.Steps {
			g := s.TargetGroup
			if done[g.Name] {
				continue
			}
			done[g.Name] = true
			b.WriteString("\n")
			if g.Server == "" {
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

// scriptJob writes one job. Its own interval schedule stays disabled: the named ones run it.
func (r *Result) scriptJob(b *strings.Builder, j *Job) {
	b.WriteString("\n")
	for _, f := range r.Findings {
		if f.Job == j.Name {
			b.WriteString(tsql.Comment("", f.String()))
		}
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
		text(c, "command", orElse(s.Command, "write here T-SQL that does the same"))
		text(c, "target_group_name", s.TargetGroup.Name)
		c.Number("initial_retry_interval_seconds", s.Interval).Number("maximum_retry_interval_seconds", s.Interval).Raw("retry_interval_backoff_multiplier", "1.0")
		c.Number("retry_attempts", s.Attempts).Number("step_timeout_seconds", s.Timeout)
		if s.Command == "" {
			b.WriteString(tsql.Comment("", "The step to write, which was: "+s.Action+"\n"+c.String()))
		} else {
			b.WriteString(c.String() + "\n")
		}
	}
	for _, s := range j.Schedules {
		c := text(call("jobs.sp_add_schedule"), "schedule_name", s.Name).Text("kind", string(s.Kind))
		text(c, "spec", s.Spec).Optional("time_zone", s.Zone).Optional("catch_up", s.CatchUp).Optional("overlap", s.Overlap).Bit("enabled", s.Enabled)
		if s.faulty {
			b.WriteString(tsql.Comment("", "Not created, because of the faults above:\n"+c.String()))
		} else {
			b.WriteString(c.String() + "\n")
		}
	}
	b.WriteString("COMMIT TRANSACTION;\nGO\n")
}

func orElse(text, absent string) string {
	if text == "" {
		return absent
	}
	return text
}
