package output

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// AuditEntry is a change that somebody made. Its fields are those of the view jobs.audit_log.
type AuditEntry struct {
	ID             int64           `json:"entry_id"`
	Time           time.Time       `json:"time"`
	Door           string          `json:"door"`   // T-SQL, CLI or REST
	Caller         string          `json:"caller"` // the login for T-SQL and CLI
	OriginalLogin  string          `json:"original_login"`
	Host           string          `json:"host,omitempty"`
	Program        string          `json:"program,omitempty"`
	Address        string          `json:"address,omitempty"`
	CorrelationID  *uuid.UUID      `json:"correlation_id,omitempty"` // joins the entries of one request
	Action         string          `json:"action"`                   // name of a procedure
	ObjectKind     string          `json:"object_kind"`
	ObjectName     string          `json:"object_name,omitempty"`
	ObjectID       string          `json:"object_id,omitempty"`
	JobID          *uuid.UUID      `json:"job_id,omitempty"`
	JobName        string          `json:"job_name,omitempty"`      // at the time of the change
	Before         json.RawMessage `json:"before_change,omitempty"` // JSON object of what changed
	After          json.RawMessage `json:"after_change,omitempty"`
	VersionBefore  *int            `json:"version_before,omitempty"` // of the job
	VersionAfter   *int            `json:"version_after,omitempty"`
	RevisionBefore *int64          `json:"revision_before,omitempty"` // of the job or target group
	RevisionAfter  *int64          `json:"revision_after,omitempty"`
}
