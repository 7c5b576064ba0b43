package output

import (
	"time"

	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/doctor"
)

// Deployment is the result of an installation or migration.
type Deployment struct {
	SchemaVersion int              `json:"schema_version"`
	Warnings      []doctor.Finding `json:"warnings"` // settings of the database that impair the agent
}

// MigrationPlan is what `jobagent db migrate` would do.
type MigrationPlan struct{ deploy.Plan }

// Uninstallation is what `jobagent db uninstall` has dropped.
type Uninstallation struct {
	Objects []string `json:"objects"` // dropped, in order
	Members []string `json:"members"` // users that lost their membership in a role, as "user of role"
	Kept    []string `json:"kept"`    // objects of others, which stay
	Runs    int      `json:"runs"`    // of the history that was dropped
}

// Verification is the result of a comparison that found no difference.
type Verification struct {
	Differences   []string         `json:"differences"` // always empty: with a difference, the command fails
	SchemaVersion int              `json:"schema_version"`
	Warnings      []doctor.Finding `json:"warnings"` // settings of the database that impair the agent
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

// Limit is a limit of concurrent targets.
type Limit struct {
	Scope     string     `json:"scope"` // Job, Server, ElasticPool, Credential or Agent
	Name      string     `json:"name"`
	Server    string     `json:"server_name,omitempty"` // of an elastic pool
	Max       int        `json:"max_concurrent_targets"`
	Running   int        `json:"running"` // targets that run under the limit
	Waiting   int        `json:"waiting"` // targets that the limit holds back
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
}

// RemovedLimit names a limit that was removed.
type RemovedLimit struct {
	Name   string `json:"name"`
	Scope  string `json:"scope"`
	Server string `json:"server_name"`
}
