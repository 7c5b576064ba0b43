package importer

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/tsql"
)

// outsideCommand is a command of another system, which a shell or an operating system runs there.
type outsideCommand struct {
	// line is the text for a shell. Without one, words are the program and its arguments.
	line  string
	words []shellWord
	// variable returns a variable of the environment.
	variable func(name string) variable
	// stdin means that the command reads a text which the other system gives it.
	stdin bool
	// element is the path of the command in the report, and where says the same in a sentence.
	element, where string
	// step is the name of the step.
	step string
	// what describes the work if it is not that of a program.
	what string
	// advice says what to write in its place; empty: as for its program.
	advice string
	// original is the command as it was, with its arguments. It is only shown with
	// Options.KeepCommands, or if plain says that it holds no secret.
	original string
	plain    bool
}

// variable is a variable of the environment.
type variable struct {
	value string
	// set means that there is one, and known that its value is here and not a secret.
	set, known bool
}

// program returns the path of the program, or an empty text if it is not plain. A report shows
// nothing else of a command, because its arguments may be secrets.
func (c *outsideCommand) program() string {
	if c.line != "" {
		return programOf(c.line)
	}
	if len(c.words) > 0 && !c.words[0].variable {
		return plainProgram(c.words[0].text)
	}
	return ""
}

// simple returns the command as a simple one. ok is false if it is more than that, or uncertain.
func (c *outsideCommand) simple() (simple shellCommand, ok bool) {
	if c.line != "" {
		return readShell(c.line, c.plainVariable)
	}
	simple = shellCommand{words: c.words, variables: map[string]variable{}}
	return simple, len(c.words) > 0
}

// plainVariable returns the value of a variable that is not a secret.
func (c *outsideCommand) plainVariable(name string) (string, bool) {
	v := c.variable(name)
	return v.value, v.known && !isSecretVariable(name)
}

// isSecretVariable reports whether a variable of the environment may be a secret, by its name.
func isSecretVariable(name string) bool {
	name = strings.ToLower(name)
	return secretName.MatchString(name) || strings.Contains(name, "pwd") || strings.HasPrefix(name, "pw") || strings.HasSuffix(name, "pw")
}

// commandStep converts a command to a step. A call of sqlcmd of which everything is understood
// becomes a T-SQL step for its database. Any other command becomes a step that fails with a
// message, and is reported.
func (r *Result) commandStep(job *Job, c outsideCommand) Step {
	if r.steps++; r.full() {
		return Step{}
	}
	simple, ok := c.simple()
	if c.step == "" {
		c.step = path.Base(strings.ReplaceAll(c.program(), `\`, "/"))
		if c.step == "." || c.step == "/" {
			c.step = "command"
		}
	}
	c.step = job.stepName(c.step, func(string) {})
	if ok && !c.stdin && !simple.words[0].unknown && program(simple.words[0].text) == "sqlcmd" {
		call, understood := readSqlcmd(simple.words[1:], func(name string) variable {
			if v, set := simple.variables[name]; set {
				return v
			}
			return c.variable(name)
		})
		if understood && isTSQL(call.query) {
			if step, done := r.sqlcmdStep(job, &c, &simple, &call); done {
				return step
			}
		}
	}
	return r.stepToWrite(job, &c)
}

// sqlcmdStep returns the step in the place of a call of sqlcmd. done is false if its server is one
// with which no agent connects.
func (r *Result) sqlcmdStep(job *Job, c *outsideCommand, simple *shellCommand, call *sqlcmdCall) (step Step, done bool) {
	server, local, ok := sqlcmdServer(call.server)
	if !ok {
		return step, false
	}
	element := c.element
	step = Step{Name: c.step, Command: call.query, Interval: 1, Timeout: maxTimeout}
	database := call.database
	if database == "" {
		database = "master"
	}
	if r.opts.TargetGroup != "" {
		r.note(job.Name, element, "sqlcmd connected to %s; the step runs on the target group %q", quotedTarget(call.server, call.database), r.opts.TargetGroup)
	} else {
		if local && r.opts.Server != "" {
			server = r.opts.Server
		} else if local {
			if server == "" || server == "." || strings.EqualFold(server, "(local)") {
				server = "localhost"
			}
			r.toSet(job.Name, element, "sqlcmd connected to its own machine: %s is taken, as the agent sees it; name the server with --server", server)
		}
		if call.database == "" {
			r.changed(job.Name, element, "sqlcmd took the default database of its login: the step takes master, unless you say --target-group")
		}
	}
	step.TargetGroup = r.serverGroup(server, r.userDatabase(job, element, database))
	switch {
	case call.login != "" || call.secret:
		r.toSet(job.Name, element, "sqlcmd had a login and a password, which are not shown: agents connect as their configuration says, and need the permissions")
	default:
		r.note(job.Name, element, "sqlcmd connected as the user that ran it: agents connect as their configuration says, and need the permissions")
	}
	if call.timeout > 0 {
		step.Timeout = call.timeout
	}
	if simple.seconds > 0 {
		step.Timeout = min(step.Timeout, simple.seconds)
	}
	if call.output || simple.output {
		r.lost(job.Name, element, "its output goes to a file: here jobs.job_execution_messages holds it, and an output table what it selects")
	}
	if call.readOnly {
		r.lost(job.Name, element, "the intent to read only (-K) is not passed on")
	}
	if call.severity {
		r.changed(job.Name, element, "-V names the severity from which sqlcmd fails: a step fails at every error")
	}
	if len(call.files) > 0 {
		r.sqlcmdFiles(job, c, &step, call, simple.folder)
	} else if !call.quoted && strings.Contains(step.Command, `"`) {
		r.changed(job.Name, element, `without -I, sqlcmd for ODBC takes "…" for a text: the step begins with SET QUOTED_IDENTIFIER OFF`)
		step.Command = "SET QUOTED_IDENTIFIER OFF;\n" + step.Command
	}
	return step, true
}

// quotedTarget describes a server and a database of sqlcmd.
func quotedTarget(server, database string) string {
	if server == "" {
		server = "localhost"
	}
	if database == "" {
		return fmt.Sprintf("%q", server)
	}
	return fmt.Sprintf("%q, database %q", server, database)
}

// sqlcmdFiles sets the command of a step to the text of the files, if Options.Script returns them.
// Otherwise the step fails with a message.
func (r *Result) sqlcmdFiles(job *Job, c *outsideCommand, step *Step, call *sqlcmdCall, folder string) {
	var text strings.Builder
	for _, file := range call.files {
		full := file
		if folder != "" && !path.IsAbs(file) {
			full = path.Join(folder, file)
		}
		part, found, problem := "", false, ""
		if r.opts.Script != nil {
			var err error
			if part, found, err = r.opts.Script(full); err != nil {
				problem = err.Error()
			} else if found && !isTSQL(part) {
				problem = "it has commands or variables of sqlcmd"
			} else if found && !call.quoted && strings.Contains(part, `"`) {
				r.changed(job.Name, c.element, `%s: without -I, sqlcmd for ODBC takes "…" for a text: the step begins with SET QUOTED_IDENTIFIER OFF`, full)
				part = "SET QUOTED_IDENTIFIER OFF;\nGO\n" + part
			}
		}
		if !found || problem != "" {
			if problem == "" {
				problem = "it was not read; say --scripts with a folder that holds it"
			}
			r.lost(job.Name, c.element, "the T-SQL is in the file %s: %s. The step is created so that it fails; write it with jobagent step update, or jobs.sp_update_jobstep", full, problem)
			step.unwritten = true
			step.Command = standIn(standInText("%s read its T-SQL from the file %s, which was not imported. Write that T-SQL here.", c.where, full))
			return
		}
		if text.Len() > 0 {
			text.WriteString("\nGO\n")
		}
		text.WriteString(part)
	}
	step.Command = text.String()
}

// standInText returns the message of a step to write, within SQL Server's limit of 2,048
// characters.
func standInText(format string, args ...any) string {
	text, _ := cut(fmt.Sprintf(format, args...), 2000)
	return text
}

// clients says what to write in the place of known programs.
var clients = map[string]string{
	"sqlcmd": "It has options, variables or shell text whose effect is not certain. Write the T-SQL that it sends.",
	"bcp":    "It copies between a file and a table: write BULK INSERT or OPENROWSET, or let the agent run it.",
	"psql":   "It is a client of PostgreSQL, which is not a target here: let the agent run it.",
	"mysql":  "It is a client of MySQL, which is not a target here: let the agent run it.",
}

// stepToWrite returns a step in the place of a command that does not run here. With a target group
// it is T-SQL that fails with a message. A T-SQL step on an empty target group would succeed, so
// without one it is an action of the type Process. Such a step waits for an agent that has the
// entry, up to its time limit, so the schedules of the job are created disabled.
func (r *Result) stepToWrite(job *Job, c *outsideCommand) Step {
	step := Step{Name: c.step, Interval: 1, Timeout: maxTimeout}
	name := c.program()
	what := "a command whose program is not shown"
	if name != "" {
		what = "the program " + name
	}
	if c.what != "" {
		what = c.what
	}
	if c.stdin {
		what += " with a text on its standard input"
	}
	advice := cmp.Or(c.advice, clients[program(name)])
	if advice != "" {
		advice = " " + advice
	}
	shown := ""
	switch {
	case c.original == "", c.original == name: // nothing is left out
	case c.plain || r.opts.KeepCommands:
		step.Original = c.original
		shown = ". The script has it as a comment"
	default:
		shown = ". Its command line is not shown, because it may hold a password: --keep-commands writes it into the script, as a comment"
	}
	step.unwritten = true
	if r.opts.TargetGroup != "" {
		step.TargetGroup = r.placeholder()
		step.Command = standIn(standInText("%s ran %s and could not be carried over.%s Write T-SQL that does the same.", c.where, what, advice))
		r.lost(job.Name, c.element, "%s does not run here.%s The step is created so that it fails, and the schedules are disabled; write T-SQL in its place (jobs.sp_update_jobstep)%s", what, advice, shown)
		return step
	}
	step.Timeout = defaultTimeout
	entry, _ := cut(nameOf(job.Name, "job"), maxName-40)
	if len(job.Steps) > 0 {
		entry += "-" + nameOf(c.step, "step")
		entry, _ = cut(entry, maxName)
	}
	r.lost(job.Name, c.element, "%s does not run here.%s The step runs the entry %q of \"processes\" in the configuration of the agents, and waits until an agent has it: the schedules are created disabled; enable them then, with jobagent schedule enable. Or replace the step by T-SQL, which --target-group prepares%s", what, advice, entry, shown)
	r.setAction(job.Name, c.element, what, &step, &action.Definition{Type: action.TypeProcess, Process: &action.Process{Entry: entry}})
	return step
}

// standInBegin is the beginning of the command of a step that fails until it is written.
const standInBegin = "THROW 50000, "

// standIn returns a T-SQL command that fails with a message.
func standIn(message string) string {
	return standInBegin + tsql.Literal(message) + ", 1;"
}

// secretOption matches what says that a command line may hold a password: options and words of
// known programs, and a user in a URL.
var secretOption = regexp.MustCompile(`(?i)(?:^|[\s"'])[-/](?:p|u|pw)(?:\b|[^a-z\s])|pwd|passw|sig=|bearer|accountkey|convertto-securestring|cmdkey|://[^/\s]*@|net\s+use`)

// mayHoldSecret reports whether a command may hold a secret, as far as its words tell.
func mayHoldSecret(command string) bool {
	return secretOption.MatchString(command) || secretName.MatchString(command)
}
