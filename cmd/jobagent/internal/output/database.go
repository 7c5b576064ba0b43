package output

import (
	"time"

	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/doctor"
)

// Deployment is the result of an installation or migration.
type Deployment struct {
	SchemaVersion int       `json:"schema_version"`
	Warnings      []Finding `json:"warnings"` // settings of the database that impair the agent
}

// MigrationPlan is what `jobagent db migrate` would do.
type MigrationPlan struct {
	Version  int            `json:"version"` // installed
	Want     int            `json:"want"`    // of this program
	Edition  string         `json:"edition"` // of the server
	Online   bool           `json:"online"`  // the edition builds indexes online
	Steps    []PlannedStep  `json:"steps"`
	Code     int            `json:"code"` // number of procedures, views, triggers and roles to create, replace or drop
	Agents   []PlannedAgent `json:"agents"`
	Warnings []string       `json:"warnings"`
}

// PlannedStep is a step of a migration: one transaction, or one statement.
type PlannedStep struct {
	Migration  string             `json:"migration"`
	Step       int                `json:"step"`  // from 1
	Of         int                `json:"of"`    // number of steps of the migration
	Table      string             `json:"table"` // empty for none, or several
	Rows       int64              `json:"rows"`  // of the table
	MB         int64              `json:"mb"`    // of the table, with its indexes
	Statements []PlannedStatement `json:"statements"`
}

// PlannedStatement is a statement of a step.
type PlannedStatement struct {
	Kind  string `json:"kind"`
	Text  string `json:"text"`           // its first line
	Lock  string `json:"lock"`           // that keeps others waiting
	Grows bool   `json:"grows"`          // the duration grows with the rows of the table while others wait
	Size  string `json:"size,omitempty"` // how the duration grows, as the migration says
}

// PlannedAgent is an agent at work.
type PlannedAgent struct {
	Host     string `json:"host"`
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Tasks    int    `json:"tasks"`
}

// NewMigrationPlan converts a plan of package controldb.
func NewMigrationPlan(p deploy.Plan) MigrationPlan {
	v := MigrationPlan{
		Version: p.Version, Want: p.Want, Edition: p.Edition, Online: p.Online, Code: p.Code,
		Steps: []PlannedStep{}, Agents: []PlannedAgent{}, Warnings: append([]string{}, p.Warnings...),
	}
	for _, s := range p.Steps {
		step := PlannedStep{Migration: s.Migration, Step: s.Step, Of: s.Of, Table: s.Table, Rows: s.Rows, MB: s.MB}
		for _, st := range s.Statements {
			step.Statements = append(step.Statements, PlannedStatement{Kind: string(st.Kind), Text: st.Text, Lock: st.Lock, Grows: st.Grows, Size: st.Size})
		}
		v.Steps = append(v.Steps, step)
	}
	for _, a := range p.Agents {
		v.Agents = append(v.Agents, PlannedAgent{Host: a.Host, Version: a.Version, Protocol: a.Protocol, Tasks: a.Tasks})
	}
	return v
}

// Uninstallation is what `jobagent db uninstall` has dropped.
type Uninstallation struct {
	Objects []string `json:"objects"` // dropped, in order
	Members []string `json:"members"` // users that lost their membership in a role, as "user of role"
	Kept    []string `json:"kept"`    // objects of others, which stay
	Runs    int      `json:"runs"`    // of the history that was dropped
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
	Code     string          `json:"code"` // names the check
	Severity doctor.Severity `json:"severity"`
	Found    string          `json:"found"`
	Why      string          `json:"why,omitempty"`     // the consequence
	SQL      string          `json:"sql,omitempty"`     // T-SQL that corrects it
	Command  string          `json:"command,omitempty"` // the remedy where T-SQL is none
}

// NewFinding converts a finding of package controldb.
func NewFinding(f doctor.Finding) Finding {
	return Finding{
		Code: f.Code, Severity: f.Severity, Found: f.Found, Why: f.Why, SQL: f.SQL, Command: f.Command,
	}
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
