package output

import (
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobagent/jobagent/controldb"
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
func NewStep(s controldb.JobStep) Step {
	return Step{
		ID:               s.StepID,
		Name:             s.StepName,
		CommandType:      s.CommandType,
		Command:          s.Command,
		Credential:       s.Credential,
		TargetGroup:      s.TargetGroup,
		Attempts:         s.Attempts,
		OutputType:       s.OutputType,
		OutputCredential: s.Output.Credential,
		OutputServer:     s.Output.Server,
		OutputDatabase:   s.Output.Database,
		OutputSchema:     s.Output.Schema,
		OutputTable:      s.Output.Table,
		MaxParallelism:   s.MaxParallelism,
		After:            s.After,
		StepOptions:      s.StepOptions,
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
	for _, part := range ActionParts(d) {
		if _, err := fmt.Fprintf(w, "  %-10s %s\n", part[0], strings.ReplaceAll(part[1], "\n", "\n             ")); err != nil {
			return err
		}
	}
	return nil
}

// ActionParts returns the parts of an action for people: pairs of a noun and a text. Defaults are
// left out. Secrets are templates, which stay as they are.
func ActionParts(d *action.Definition) [][2]string {
	var parts [][2]string
	add := func(name, text string) {
		if text != "" {
			parts = append(parts, [2]string{name, text})
		}
	}
	switch {
	case d.HTTP != nil:
		httpParts(add, d.HTTP)
	case d.StorageQueue != nil:
		q := d.StorageQueue
		add("queue", q.BaseURL()+"/"+q.Queue)
		add("message", q.Message)
		add("sas token", q.SASToken)
		add("envelope", q.Envelope)
		if q.Base64 {
			add("encoding", "base64")
		}
		switch {
		case q.TimeToLive < 0:
			add("expires", "never")
		case q.TimeToLive > 0:
			add("expires", "after "+q.TimeToLive.String())
		}
		add("delay", notZero(q.VisibilityTimeout))
		add("key in", q.KeyProperty)
	case d.ServiceBus != nil:
		serviceBusParts(add, d)
	case d.Process != nil:
		p := d.Process
		quoted := []string{p.Entry}
		for _, a := range p.Args {
			quoted = append(quoted, strconv.Quote(a))
		}
		add("process", strings.Join(quoted, " "))
		add("input", p.Input)
		if len(p.SuccessCodes) > 0 {
			add("success", strings.Trim(fmt.Sprint(p.SuccessCodes), "[]"))
		}
		if p.MaxMemory > 0 {
			add("memory", fmt.Sprintf("at most %d bytes", p.MaxMemory))
		}
		if p.OutputLimit > 0 || p.OutputHalt {
			over := "dropped"
			if p.OutputHalt {
				over = "an error"
			}
			add("output", fmt.Sprintf("at most %d bytes, more is %s", p.OutputLimit, over))
		}
	}
	if c := d.Callback; c != nil {
		text := "a report ends the action"
		if c.StatusAccepted {
			text += " after the answer 202"
		}
		if c.Timeout > 0 {
			text += ", within " + c.Timeout.String()
		}
		add("callback", text)
	}
	return parts
}

func httpParts(add func(name, text string), h *action.HTTP) {
	if h.URL != "" {
		add("request", h.Method+" "+h.URL)
	} else {
		add("request", h.Method+" "+strings.Join(h.Endpoints, ", then "))
	}
	for _, f := range h.Headers {
		add("header", f.Name+": "+f.Value)
	}
	switch {
	case h.BodyBase64:
		add("body", fmt.Sprintf("%d bytes in base64: %s", len(h.Body), base64.StdEncoding.EncodeToString(h.Body)))
	case utf8.Valid(h.Body):
		add("body", string(h.Body))
	}
	if h.Payload != "" {
		add("parameters", "in the "+string(h.Payload))
	}
	s := h.Success
	texts := []string{}
	switch s.Preset {
	case action.PresetWebhook, action.PresetAzure:
		texts = append(texts, "200-299")
	case action.PresetSAP:
		texts = append(texts, "200-399")
	}
	for _, r := range s.Ranges {
		texts = append(texts, r.String())
	}
	rule := strings.Join(texts, ", ")
	if s.BodyMatches != "" {
		rule += fmt.Sprintf(", body matches %q", s.BodyMatches)
	}
	if s.BodyFailsOn != "" {
		rule += fmt.Sprintf(", body does not match %q", s.BodyFailsOn)
	}
	add("success", rule)
	if h.FollowRedirects > 0 {
		add("redirects", fmt.Sprintf("at most %d", h.FollowRedirects))
	}
	add("answer", "within "+h.ResponseTimeout.String())
	add("keep", strings.Join(h.CaptureHeaders, ", "))
	if a := h.Auth; a != nil {
		text := a.Kind
		for _, part := range [][2]string{{"user", a.Username}, {"client", a.ClientID}, {"token", a.TokenURL}, {"header", a.Header}} {
			if part[1] != "" {
				text += ", " + part[0] + " " + part[1]
			}
		}
		add("auth", text)
	}
}

func serviceBusParts(add func(name, text string), d *action.Definition) {
	b := d.ServiceBus
	noun := "queue"
	if d.Type == action.TypeServiceBusTopic {
		noun = "topic"
	}
	transport := "HTTPS"
	if b.AMQP {
		transport = "AMQP"
	}
	add(noun, b.Host()+"/"+b.Entity+" by "+transport)
	add("message", b.Message)
	add("content", b.ContentType)
	add("key", b.KeyName)
	for _, p := range b.Properties {
		add("property", fmt.Sprintf("%s: %v", p.Name, p.Value))
	}
	p := b.Broker
	for _, part := range [][2]string{
		{"correlation", p.CorrelationID}, {"label", p.Label}, {"message id", p.MessageID}, {"partition", p.PartitionKey},
		{"reply to", p.ReplyTo}, {"reply session", p.ReplyToSessionID}, {"session", p.SessionID}, {"to", p.To},
		{"via partition", p.ViaPartitionKey}, {"expires", notZero(p.TimeToLive)},
	} {
		add(part[0], part[1])
	}
	if !p.ScheduledEnqueueTime.IsZero() {
		add("enqueue at", p.ScheduledEnqueueTime.Format(time.RFC3339))
	}
}

// notZero returns a duration as text, empty for 0.
func notZero(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return "after " + d.String()
}
