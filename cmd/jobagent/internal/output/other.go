package output

import (
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/importer"
	"github.com/jobagent/jobagent/targets"
)

// Agent is an agent with its latest term as -o json shows it.
type Agent struct {
	ID                   uuid.UUID  `json:"agent_id"`
	Host                 string     `json:"host_name"`
	Version              string     `json:"version"`
	MaxConcurrentTargets int        `json:"max_concurrent_targets"`
	Term                 int64      `json:"term_id"`
	StartedAt            time.Time  `json:"started_at"`
	ExpiresAt            time.Time  `json:"expires_at"`
	EndedAt              *time.Time `json:"ended_at,omitempty"`
	EndReason            string     `json:"end_reason,omitempty"`
	Live                 bool       `json:"is_live"`
	HeldTasks            int        `json:"held_tasks"`
}

// DemoRun is what `demo -o json` prints as its last line. Targets are databases, each counted once by the worst that happened to it.
type DemoRun struct {
	ID        uuid.UUID      `json:"job_execution_id"`
	Lifecycle jobs.Lifecycle `json:"lifecycle"`
	Targets   struct {
		Total     int `json:"total"`
		Succeeded int `json:"succeeded"`
		Failed    int `json:"failed"`
		Skipped   int `json:"skipped"`
		Canceled  int `json:"canceled"`
		TimedOut  int `json:"timed_out"`
	} `json:"targets"`
	Attempts  int   `json:"attempts"`
	ElapsedMS int64 `json:"elapsed_ms"`
}

// Finding is a finding as -o json shows it.
type Finding struct {
	Code     string             `json:"code"`
	Severity controldb.Severity `json:"severity"`
	Found    string             `json:"found"`
	Why      string             `json:"why,omitempty"`
	SQL      string             `json:"sql,omitempty"`     // T-SQL that mends it
	Command  string             `json:"command,omitempty"` // what mends it where T-SQL cannot
}

func NewFinding(f controldb.Finding) Finding {
	return Finding{
		Code:     f.Code,
		Severity: f.Severity,
		Found:    f.Found,
		Why:      f.Why,
		SQL:      f.SQL,
		Command:  f.Command,
	}
}

// ImportReport is the report as -o json shows it.
type ImportReport struct {
	Jobs      int                `json:"jobs"`
	Steps     int                `json:"steps"`
	ToWrite   int                `json:"steps_to_write"`
	Schedules int                `json:"schedules"`
	Lost      int                `json:"lost"`
	Changed   int                `json:"changed"`
	Findings  []importer.Finding `json:"findings"`
}

// Limit is a limit as -o json shows it.
type Limit struct {
	Scope     controldb.LimitScope `json:"scope"`
	Name      string               `json:"name"`
	Server    string               `json:"server_name,omitempty"`
	Max       int                  `json:"max_concurrent_targets"`
	Running   int                  `json:"running"`
	Waiting   int                  `json:"waiting"`
	UpdatedAt *time.Time           `json:"updated_at,omitempty"`
}

// Member is a member as -o json shows it; names as in the view jobs.target_group_members.
type Member struct {
	Membership        targets.MembershipType `json:"membership_type"`
	Kind              targets.MemberKind     `json:"target_type"`
	ID                uuid.UUID              `json:"target_id"`
	Server            string                 `json:"server_name"`
	Database          string                 `json:"database_name,omitempty"`
	ElasticPool       string                 `json:"elastic_pool_name,omitempty"`
	ShardMap          string                 `json:"shard_map_name,omitempty"`
	RefreshCredential string                 `json:"refresh_credential_name,omitempty"`
}
