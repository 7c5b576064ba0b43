package auditlog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Entry is a row of the view jobs.audit_log.
type Entry struct {
	ID            int64     `db:"entry_id"`
	Time          time.Time `db:"time"`
	Door          string    `db:"door"` // T-SQL, CLI, REST or Web
	Caller        string    `db:"caller"`
	OriginalLogin string    `db:"original_login"`
	Host          string    `db:"host"`
	Program       string    `db:"program"`
	Address       string    `db:"address"`
	CorrelationID uuid.UUID `db:"correlation_id"` // nil: none
	Action        string    `db:"action"`
	ObjectKind    string    `db:"object_kind"`
	ObjectName    string    `db:"object_name"`
	ObjectID      string    `db:"object_id"`
	JobID         uuid.UUID `db:"job_id"` // nil: none
	JobName       string    `db:"job_name"`
	// Before and After are JSON objects of what changed; nil: there was or is no object, or it has
	// no state.
	Before json.RawMessage `db:"before_change"`
	After  json.RawMessage `db:"after_change"`
	// The versions of the job and the revisions of the object are nil where there are none.
	VersionBefore  *int   `db:"version_before"`
	VersionAfter   *int   `db:"version_after"`
	RevisionBefore *int64 `db:"revision_before"`
	RevisionAfter  *int64 `db:"revision_after"`
}

// Filter selects entries of the audit log. Zero values select all.
type Filter struct {
	// Since is the earliest time, and Until the first time that is too late.
	Since, Until time.Time
	// Caller is a person, a program or a login.
	Caller string
	// JobName is the name that the job had at the time, and JobID its id.
	JobName string
	JobID   uuid.UUID
	// Action is the name of a procedure, such as sp_update_job.
	Action string
	// Door is T-SQL, CLI or REST.
	Door string
	// ObjectKind is a kind such as Job or Schedule, and ObjectName the name of an object.
	ObjectKind, ObjectName string
	// Correlation is the id of one request.
	Correlation uuid.UUID
	// Back bounds the search to entries whose ids are greater. A search that finds little reads all
	// entries otherwise, unless it names a job.
	Back int64
	// Behind is the id of the last entry of the page before this one.
	Behind int64
	// Limit is the maximum number of entries; 0 means 1000000.
	Limit int
}

// Read lists entries of the audit log, latest first.
func (s Store) Read(ctx context.Context, f Filter) ([]Entry, error) {
	w := call.NewFilter(f.Limit)
	if f.Behind > 0 {
		w.Add("entry_id < %s", f.Behind)
	}
	if !f.Since.IsZero() {
		w.Add("time >= %s", call.Datetime2(f.Since))
	}
	if !f.Until.IsZero() {
		w.Add("time < %s", call.Datetime2(f.Until))
	}
	if f.Caller != "" {
		w.Add("(caller = %s OR original_login = %s)", f.Caller, f.Caller)
	}
	if f.JobName != "" {
		w.Add("job_name = %s", f.JobName)
	}
	if f.JobID != uuid.Nil {
		w.Add("job_id = %s", mssqldb.UniqueIdentifier(f.JobID))
	}
	if f.Action != "" {
		w.Add("action = %s", f.Action)
	}
	if f.Door != "" {
		w.Add("door = %s", f.Door)
	}
	if f.ObjectKind != "" {
		w.Add("object_kind = %s", f.ObjectKind)
	}
	if f.ObjectName != "" {
		w.Add("object_name = %s", f.ObjectName)
	}
	if f.Back > 0 {
		w.Add("entry_id > %s", f.Back)
	}
	if f.Correlation != uuid.Nil {
		w.Add("correlation_id = %s", mssqldb.UniqueIdentifier(f.Correlation))
	}
	return call.SelectAll[Entry](ctx, s.conn, "read the audit log", `SELECT TOP (@p1) entry_id, time, door, caller, original_login, host, program, address,
    correlation_id, action, object_kind, object_name, object_id, job_id, job_name, before_change, after_change,
    version_before, version_after, revision_before, revision_after
FROM jobs.audit_log`+w.Text()+"\nORDER BY entry_id DESC;", w.Args...)
}
