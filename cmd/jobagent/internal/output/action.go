package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs/action"
)

// ActionCheck is the result of the check of an action's definition. The exit code is 2 if it has
// faults.
type ActionCheck struct {
	Type      action.Type   `json:"command_type"`
	Valid     bool          `json:"valid"`
	Faults    []ActionFault `json:"faults"`
	Server    string        `json:"server_name,omitempty"` // absent: the host contains a template
	Variables []string      `json:"variables,omitempty"`   // that the definition needs
}

// ActionFault is one thing that is wrong in a definition.
type ActionFault struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// ActionTrial is the result of one attempt of an action.
type ActionTrial struct {
	Type         action.Type    `json:"command_type"`
	Outcome      string         `json:"outcome"` // Succeeded, Accepted, Failed, TimedOut, Unknown, NoAnswer or NotSent
	Summary      string         `json:"message,omitempty"`
	Sent         bool           `json:"sent"`
	NoRetry      bool           `json:"no_retry,omitempty"`       // another attempt would not help
	RetryAfterMS int64          `json:"retry_after_ms,omitempty"` // the wait that the endpoint asks for
	ElapsedMS    int64          `json:"elapsed_ms"`
	Messages     []TrialMessage `json:"messages"` // what was sent, with secrets masked, and what came back
}

// TrialMessage is a part of what was sent or came back.
type TrialMessage struct {
	Kind   string `json:"message_kind"`             // Agent, Response, Body, Output, ErrorOutput or Exit
	Number int32  `json:"message_number,omitempty"` // status or exit code
	Text   string `json:"message,omitempty"`
}

// NewStep returns the view of a step.
func NewStep(s catalog.JobStep) Step {
	return Step{
		ID: s.StepID, Name: s.StepName, CommandType: s.CommandType, Command: s.Command, Credential: s.Credential, TargetGroup: s.TargetGroup,
		Attempts: s.Attempts, OutputType: s.OutputType, OutputCredential: s.Output.Credential, OutputServer: s.Output.Server,
		OutputDatabase: s.Output.Database, OutputSchema: s.Output.Schema, OutputTable: s.Output.Table,
		MaxParallelism: s.MaxParallelism, After: s.After, StepOptions: s.StepOptions,
	}
}

// dependencies describes when a step starts; it is empty for a step that starts after the success
// of the step with the preceding id.
func dependencies(s Step) string {
	if s.After == nil && s.RunWhen == "Succeeded" {
		return ""
	}
	before := "the step before"
	if len(s.After) > 0 {
		before = strings.Join(s.After, ", ")
	}
	var text string
	switch {
	case s.After != nil && len(s.After) == 0:
		return "starts with the run"
	case s.RunWhen == "Failed":
		text = "starts after the failure of " + before
	case s.RunWhen == "Finished":
		text = "starts after the end of " + before + ", whatever its result is"
	case s.OnTargets == "Succeeded":
		text = "starts after the end of " + before
	default:
		text = "starts after the success of " + before
	}
	switch s.OnTargets {
	case "Failed":
		text += ", on the targets that failed there"
	case "Succeeded":
		text += ", on the targets that succeeded there"
	}
	return text
}

// WriteStep prints a step: a script as it is, and an action by its parts.
func WriteStep(w io.Writer, s Step) error {
	place := "on target group " + s.TargetGroup
	if s.TargetGroup == "" {
		place = "on its endpoint"
	}
	fmt.Fprintf(w, "step %d: %s, %s\n", s.ID, s.Name, place)
	after := ""
	if s.RetryErrors == "Transient" {
		after = " after transient errors"
	}
	fmt.Fprintf(w, "  retry attempts %d%s, waiting %d s to %d s (times %g), time limit %d s\n", s.RetryAttempts, after,
		s.InitialRetryInterval, s.MaximumRetryInterval, s.RetryIntervalMultiplier, s.Timeout)
	if s.ToleratedFailures != "" && s.ToleratedFailures != "0" {
		fmt.Fprintf(w, "  succeeds if at most %s of its targets fail\n", s.ToleratedFailures)
	}
	if text := dependencies(s); text != "" {
		fmt.Fprintf(w, "  %s\n", text)
	}
	if s.OutputTable != "" {
		fmt.Fprintf(w, "  output to %s/%s %s.%s\n", s.OutputServer, s.OutputDatabase, s.OutputSchema, s.OutputTable)
	}
	if s.Credential != "" && s.CommandType != "" && s.CommandType != string(action.TypeTSQL) {
		fmt.Fprintf(w, "  credential %s\n", s.Credential)
	}
	d, err := action.Decode(action.Type(s.CommandType), s.Command)
	if err != nil { // a script, or a definition of a later version
		_, err = fmt.Fprintf(w, "%s\n", Indent(s.Command, "  | "))
		return err
	}
	for _, part := range d.Parts() {
		if _, err := fmt.Fprintf(w, "  %-10s %s\n", part[0], strings.ReplaceAll(part[1], "\n", "\n             ")); err != nil {
			return err
		}
	}
	return nil
}
