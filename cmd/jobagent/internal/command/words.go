package command

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/message"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
)

// standsFor is the annotation of commands with the procedure or view that they stand for.
const standsFor = "jobagent_object"

// StandsFor declares that texts for people name a command in place of a procedure or view.
func StandsFor(object string, cmd *cobra.Command) *cobra.Command {
	return annotate(cmd, standsFor, object)
}

// annotate adds an annotation to a command.
func annotate(cmd *cobra.Command, name, value string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[name] = value
	return cmd
}

// Objects returns the commands that stand for procedures and views, by the names of these.
func Objects(cmd *cobra.Command) map[string]*cobra.Command {
	found := map[string]*cobra.Command{}
	if object := cmd.Annotations[standsFor]; object != "" {
		found[object] = cmd
	}
	for _, sub := range cmd.Commands() {
		maps.Copy(found, Objects(sub))
	}
	return found
}

// InWords returns an error of a procedure in the words of the command that called it: parameters
// become flags and arguments, procedures and views become commands. What has no counterpart stays.
func InWords(cmd *cobra.Command, err error) error {
	text := err.Error()
	for _, m := range dberror.Messages(err) {
		text = strings.Replace(text, m.String(), Words(cmd, m), 1)
	}
	if text == err.Error() {
		return err
	}
	return &wordedError{text, err}
}

// TextInWords returns a text of a procedure in the words of a command, as InWords does for errors.
func TextInWords(cmd *cobra.Command, text string) string { return Words(cmd, message.Parse(text)) }

// wordedError is an error with another text.
type wordedError struct {
	text  string
	cause error
}

// Error implements error.
func (e *wordedError) Error() string { return e.text }

// Unwrap returns the error in the words of T-SQL.
func (e *wordedError) Unwrap() error { return e.cause }

// Words returns a message in the words of a command.
func Words(cmd *cobra.Command, m message.Message) string {
	objects := Objects(cmd.Root())
	return m.Words(func(p message.Part) string {
		switch p.Kind {
		case message.Parameter:
			if other, ok := objects[p.Of]; ok {
				return nameParameter(other, p)
			}
			return nameParameter(cmd, p)
		case message.Procedure, message.View:
			other, ok := objects[p.Name]
			switch {
			case ok && p.Lists:
				return other.CommandPath() + " shows"
			case ok:
				return other.CommandPath()
			}
		case message.Text, message.Value, message.Run, message.Missing:
		}
		return p.Plain()
	})
}

// nameParameter returns the flag or the argument of a command that gives a parameter its value;
// else the parameter's name in plain words.
func nameParameter(cmd *cobra.Command, p message.Part) string {
	if found := find(cmd, parameterNames[p.Name+" = "+p.Value]); found != "" {
		return found
	}
	dashed := strings.ReplaceAll(p.Name, "_", "-")
	names := append(slices.Clone(parameterNames[p.Name]), fieldFlags[p.Name]...)
	for _, suffix := range []string{"", "-name", "-seconds", "-type", "-id"} {
		if short, ok := strings.CutSuffix(dashed, suffix); ok {
			names = append(names, "--"+short)
		}
	}
	found := find(cmd, names)
	if group := cmd.Parent(); found == "" && group != nil { // a property that another command of the group sets
		for _, other := range group.Commands() {
			if visibleFlag(other, dashed) != nil {
				found = "--" + dashed
			}
		}
	}
	switch {
	case found == "":
		return strings.ReplaceAll(p.Name, "_", " ")
	case p.Value == "0" && strings.HasPrefix(found, "--"):
		return found + "=false"
	}
	return found
}

// find returns the first flag or argument of a list that a command has. Of several flags, the one
// that was given comes first.
func find(cmd *cobra.Command, names []string) string {
	found := ""
	for _, name := range names {
		flag, isFlag := strings.CutPrefix(name, "--")
		if !isFlag {
			if found == "" && slices.Contains(argumentsOf(cmd), name) {
				found = name
			}
			continue
		}
		f := visibleFlag(cmd, flag)
		switch {
		case f == nil:
		case f.Changed:
			return name
		case found == "":
			found = name
		}
	}
	return found
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

// commandFlags are the flags of a step's command.
func commandFlags() []string {
	list := []string{"--command", "--file", "--command-file"}
	for _, i := range action.Actions() {
		list = append(list, "--"+i.Flag)
	}
	return list
}

// fieldFlags are the flags of the fields of package model, by parameters.
var fieldFlags = func() map[string][]string {
	all := map[string][]string{}
	for _, flags := range []map[string]string{model.Flags(model.JobFields), model.Flags(model.StepFields), model.Flags(model.ScheduleFields)} {
		for name, flag := range flags {
			all[name] = append(all[name], "--"+flag)
		}
	}
	return all
}()

// parameterNames maps other parameters to flags and arguments with other names; the first one that
// the command has applies. A name with a value comes before the name alone.
var parameterNames = map[string][]string{
	"agent_name":             {"ACCOUNT", "NAME"},
	"alert_name":             {"RULE", "ALERT", "NAME", "--alert"},
	"calendar_name":          {"CALENDAR", "NAME"},
	"channel_name":           {"CHANNEL", "NAME"},
	"channel_type":           {"TYPE"},
	"channels":               {"--channel"},
	"command":                commandFlags(),
	"comment":                {"--note"},
	"condition":              {"CONDITION"},
	"definition":             {"DEFINITION", "--definition"},
	"end_time":               {"--until"},
	"job_execution_id":       {"--execution-id", "EXECUTION_ID", "ROLLOUT_ID"},
	"job_id":                 {"JOB_ID"},
	"job_name":               {"JOB", "--job", "NAME"},
	"job_pattern":            {"--jobs"},
	"key_id":                 {"--retire"},
	"max_concurrent_targets": {"MAX"},
	"minutes":                {"--for"},
	"seconds":                {"--seconds", "--for"},
	"name":                   {"SECRET", "NAME"},
	"new_job_execution_id":   {"--execution-id"},
	"oldest_date":            {"--before"},
	"parameters":             {"--param", "--param-json", "--params-file"},
	"percent_failed":         {"--percent"},
	"target_group_pattern":   {"--groups"},
	"rollout = 0":            {"--no-rollout"},
	"schedule_name":          {"SCHEDULE", "NAME"},
	"scope":                  {"SCOPE"},
	"server_name":            {"--server"},
	"spec":                   {"--file", "--cron5", "--cron6", "--quartz", "--rrule", "--systemd", "--eventbridge", "--groc", "--airflow", "--iso8601"},
	"step_name":              {"STEP", "--step-name", "--name", "--new-name"},
	"success":                {"--succeeded"},
	"success = 0":            {"--failed"},
	"only_targets":           {"--only-targets", "--targets"},
	"tags":                   {"--tag"},
	"target_group_name":      {"TARGET_GROUP", "GROUP", "--target-group", "NAME"},
	"target_id":              {"TARGET_ID", "--target"},
	"until":                  {"--for"},
}
