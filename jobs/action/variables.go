package action

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/parameters"
)

// Names of variables. T-SQL steps also have the first group (RunNames).
const (
	NameJobName                = "job_name"
	NameJobID                  = "job_id"
	NameJobVersion             = "job_version"
	NameStepID                 = "step_id"
	NameStepName               = "step_name"
	NameJobExecutionID         = "job_execution_id"
	NameJobExecutionCreateTime = "job_execution_create_time"
	NameTargetGroupName        = "target_group_name"

	// NameServerName and NameDatabaseName are the server and the database of the target; the
	// database is empty for an endpoint.
	NameServerName   = "server_name"
	NameDatabaseName = "database_name"
	// NameRunID is another name of job_execution_id.
	NameRunID = "run_id"
	// NameScheduleID is empty for a run that no schedule started.
	NameScheduleID = "schedule_id"
	// NameDueAt is the due instant, or the creation of a run that no schedule started.
	NameDueAt          = "due_at"
	NameAttempt        = "attempt"
	NameIdempotencyKey = "idempotency_key"
	NameCallbackURL    = "callback_url"
	// NamePayload is the run's parameters as a JSON object.
	NamePayload = parameters.Payload

	// These names describe the failure before, in a step that runs when its predecessors failed.
	NameErrorOutcome    = "error.outcome"
	NameErrorMessage    = "error.message"
	NameErrorHTTPStatus = "error.http_status"
	NameErrorAttempts   = "error.attempts"
	NameErrorTarget     = "error.target"
)

// Prefixes of names with a free part: a path in the run's parameters, or the name of a secret.
const (
	PrefixParam   = parameters.Param + "."
	PrefixPayload = parameters.Payload + "."
	PrefixSecret  = "secret."
)

// RunNames returns the names of the variables that T-SQL steps and actions share.
func RunNames() []string {
	return []string{
		NameJobName, NameJobID, NameJobVersion, NameStepID, NameStepName, NameJobExecutionID, NameJobExecutionCreateTime,
		NameTargetGroupName,
	}
}

// fixedNames are all names without a free part.
var fixedNames = append(RunNames(),
	NameServerName, NameDatabaseName, NameRunID, NameScheduleID, NameDueAt, NameAttempt, NameIdempotencyKey, NameCallbackURL, NamePayload,
	NameErrorOutcome, NameErrorMessage, NameErrorHTTPStatus, NameErrorAttempts, NameErrorTarget)

// canonicalName returns the spelling of a name that is passed to Variables. Fixed names and
// prefixes are valid in any case; the path of a parameter and the name of a secret are kept.
func canonicalName(name string) (string, bool) {
	lower := strings.ToLower(name)
	if slices.Contains(fixedNames, lower) {
		return lower, true
	}
	for _, prefix := range []string{PrefixParam, PrefixPayload, PrefixSecret} {
		if strings.HasPrefix(lower, prefix) && len(lower) > len(prefix) {
			return prefix + name[len(prefix):], true
		}
	}
	return "", false
}

// Value is the value of a variable.
type Value struct {
	text string // of a string: its characters; otherwise JSON
	json bool   // text is JSON, not a string

	hosts []string // patterns of the hosts that may receive a secret; none means any
}

// Text returns a value that is a string.
func Text(text string) Value { return Value{text: text} }

// Secret returns the value of a secret that may be sent only to hosts that match one of the
// patterns. Without patterns, any host may receive it.
func Secret(text string, hosts ...string) Value { return Value{text: text, hosts: hosts} }

// Number returns a value that is a number.
func Number(n int) Value { return Value{text: strconv.Itoa(n), json: true} }

// JSON returns a value that is given as valid JSON.
func JSON(raw []byte) Value {
	var text string
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) {
		_ = json.Unmarshal(raw, &text) // valid by contract
		return Value{text: text}
	}
	var b bytes.Buffer
	_ = json.Compact(&b, raw)
	return Value{text: b.String(), json: true}
}

// String returns the value as text: null is empty, and objects and arrays are compact JSON.
func (v Value) String() string {
	if v.json && v.text == "null" {
		return ""
	}
	return v.text
}

// JSON returns the value as JSON: a string in quotes, any other value unchanged.
func (v Value) JSON() string {
	if v.json {
		return v.text
	}
	return jsontree.Quote(v.text)
}

// Variables returns the value of the variable with a name, and whether there is one. Expand calls
// it only for names in the definition, so that an expensive value is fetched only when it is
// needed. An error ends the expansion.
type Variables func(name string) (Value, bool, error)

// Parameter returns the value of a variable payload, param.PATH or payload.PATH. The second result
// is false if there is no such value, or the name is of another kind.
func Parameter(p *parameters.Parameters, name string) (Value, bool) {
	v, ok := p.Lookup(name)
	return parameterValue(v), ok
}

// parameterValue returns a value of the run's parameters.
func parameterValue(v parameters.Value) Value {
	switch v.Kind {
	case parameters.Null:
		return Value{text: "null", json: true}
	case parameters.String:
		return Value{text: v.Text}
	}
	return Value{text: v.Text, json: true}
}

// Query returns the run's parameters, a JSON object, as a query string (S-49): members in order,
// scalars as text, null as empty, an array as one pair for each element, objects as compact JSON.
func Query(payload string) (string, error) {
	p, err := parameters.Parse(payload)
	if err != nil {
		return "", err
	}
	var pairs []string
	for _, name := range p.Names() {
		member, _ := p.Member(name)
		values := []Value{parameterValue(member)}
		var list []json.RawMessage
		if member.Kind == parameters.JSON && json.Unmarshal([]byte(member.Text), &list) == nil {
			values = nil
			for _, raw := range list {
				values = append(values, JSON(raw))
			}
		}
		for _, v := range values {
			pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(v.String()))
		}
	}
	return strings.Join(pairs, "&"), nil
}

// Body returns the run's parameters as the body of a request (S-50): {} if there are none.
func Body(payload string) string {
	if strings.TrimSpace(payload) == "" {
		return "{}"
	}
	return payload
}
