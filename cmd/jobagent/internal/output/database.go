package output

import (
	"time"

	"github.com/jobagent/jobagent/controldb"
)

// Deployment is the result of an installation or migration.
type Deployment struct {
	SchemaVersion int       `json:"schema_version"`
	Warnings      []Finding `json:"warnings"` // settings of the database that impair the agent
}

// Verification is the result of a comparison that found no difference.
type Verification struct {
	Differences   []string  `json:"differences"` // always empty: with a difference, the command fails
	SchemaVersion int       `json:"schema_version"`
	Warnings      []Finding `json:"warnings"` // settings of the database that impair the agent
}

// Reference is the reference of procedures and views.
type Reference struct {
	Markdown string            `json:"markdown"`
	Objects  []ReferenceObject `json:"objects"`
}

// ReferenceObject describes one procedure, view, table, role or user of the control database.
type ReferenceObject struct {
	Name       string           `json:"name"` // with its schema
	Kind       string           `json:"kind"` // procedure, view, table, role or user
	Summary    string           `json:"summary"`
	Parameters []ReferenceEntry `json:"parameters,omitempty"`
	Columns    []ReferenceEntry `json:"columns,omitempty"`
	Errors     []ReferenceEntry `json:"errors,omitempty"`
	Returns    string           `json:"returns,omitempty"`
	CalledBy   string           `json:"called_by,omitempty"`
	Locks      string           `json:"locks,omitempty"`
}

// ReferenceEntry describes a parameter, a column or an error.
type ReferenceEntry struct {
	Name string `json:"name"`           // @name of a parameter, name of a column, number of an error
	Type string `json:"type,omitempty"` // of a parameter, with its default
	Text string `json:"text"`
}

// GrantSection is T-SQL that gives a login its rights in one database.
type GrantSection struct {
	Where string `json:"where"` // the database
	SQL   string `json:"sql"`
}

// Finding is the result of one check.
type Finding struct {
	Code     string             `json:"code"` // names the check
	Severity controldb.Severity `json:"severity"`
	Found    string             `json:"found"`
	Why      string             `json:"why,omitempty"`     // the consequence
	SQL      string             `json:"sql,omitempty"`     // T-SQL that corrects it
	Command  string             `json:"command,omitempty"` // the remedy where T-SQL is none
}

// NewFinding converts a finding of package controldb.
func NewFinding(f controldb.Finding) Finding {
	return Finding{
		Code: f.Code, Severity: f.Severity, Found: f.Found, Why: f.Why, SQL: f.SQL, Command: f.Command,
	}
}

// Limit is a limit of concurrent targets.
type Limit struct {
	Scope     controldb.LimitScope `json:"scope"` // Job, Server, ElasticPool, Credential or Agent
	Name      string               `json:"name"`
	Server    string               `json:"server_name,omitempty"` // of an elastic pool
	Max       int                  `json:"max_concurrent_targets"`
	Running   int                  `json:"running"` // targets that run under the limit
	Waiting   int                  `json:"waiting"` // targets that the limit holds back
	UpdatedAt *time.Time           `json:"updated_at,omitempty"`
}

// RemovedLimit names a limit that was removed.
type RemovedLimit struct {
	Name   string `json:"name"`
	Scope  string `json:"scope"`
	Server string `json:"server_name"`
}
