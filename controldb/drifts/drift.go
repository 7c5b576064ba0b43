package drifts

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/targets"
)

// Verdict says what became of a schema that was recorded.
type Verdict string

const (
	// DriftAlike, DriftDiffers, DriftRecorded and DriftMissing are outcomes: the schema is as it
	// should be, it is not, there is nothing to compare it with, and the baseline does not exist.
	DriftAlike    Verdict = "Alike"
	DriftDiffers  Verdict = "Differs"
	DriftRecorded Verdict = "Recorded"
	DriftMissing  Verdict = "Missing"
	// DriftNeedsParts means that the call is to be repeated with the parts of the schema.
	DriftNeedsParts Verdict = "NeedsParts"
	// DriftNeedsReference means that the database AgainstTarget is to be read and recorded first.
	DriftNeedsReference Verdict = "NeedsReference"
	// DriftRefused means that the term does not hold the attempt any more.
	DriftRefused Verdict = "Refused"
)

// With what a schema is compared: see [ReadSchema.Against].
const (
	AgainstNone     = "None"
	AgainstMajority = "Majority"
	AgainstDatabase = "Database"
	AgainstBaseline = "Baseline"
)

// ReadSchema is a schema that an attempt of a step of type Drift has read.
type ReadSchema struct {
	Task controldb.TaskID
	// Attempt and Claim are those of the task.
	Attempt int
	Claim   uuid.UUID
	// Target is the database that was read.
	Target targets.Target
	// Options say what was compared; schemas with other options are not comparable.
	Options     string
	Fingerprint [32]byte
	Objects     int
	// Parts are a JSON array with the parts of the schema; empty: they follow if they are asked
	// for.
	Parts string
	// Against is one of the constants above. AgainstTarget is the id of the database, and
	// AgainstName its names, or the name of the baseline.
	Against       string
	AgainstTarget uuid.UUID
	AgainstName   string
}

// Record records the schema of a database, and says whether it is as it should be, with a
// message. It returns [dberror.ErrTermEnded] when the term has ended.
func (s Store) Record(ctx context.Context, term controldb.TermID, r ReadSchema) (verdict Verdict, message string, err error) {
	c := controldb.ForTerm(call.New("jobs_internal.record_drift"), term).
		In("task_id", int64(r.Task)).In("attempt", int64(r.Attempt)).
		In("target_id", r.Target.ID).In("server_name", r.Target.Server).In("database_name", r.Target.Database).
		In("options", r.Options).In("fingerprint", r.Fingerprint[:]).In("objects", int64(r.Objects)).
		OptText("parts", r.Parts).In("against", r.Against).OptText("against_name", r.AgainstName)
	if r.Claim != uuid.Nil {
		c.In("claim_id", r.Claim)
	}
	if r.AgainstTarget != uuid.Nil {
		c.In("against_id", r.AgainstTarget)
	}
	err = s.conn.Query(ctx, "record a schema", c, call.ScanOne(&verdict, &message))
	return verdict, message, err
}

// Fingerprint is the SHA-256 of a schema.
type Fingerprint []byte

// String returns the hexadecimal digits.
func (f Fingerprint) String() string { return hex.EncodeToString(f) }

// Short is the beginning of the hexadecimal digits.
func (f Fingerprint) Short() string { return f.String()[:12] }

// MarshalText implements [encoding.TextMarshaler].
func (f Fingerprint) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// SchemaState is a schema that a database had. Its fields are those of the view jobs.drift_history.
type SchemaState struct {
	Server   string `db:"server_name" json:"server_name"`
	Database string `db:"database_name" json:"database_name"`
	// Options say what was compared; empty: the defaults.
	Options     string      `db:"options" json:"options,omitempty"`
	Fingerprint Fingerprint `db:"fingerprint" json:"fingerprint"`
	// Objects is 0 if it is not known.
	Objects int `db:"objects" json:"objects"`
	// FirstSeen is when the database was first read with the schema, and LastSeen when it was last.
	FirstSeen time.Time `db:"first_seen_time" json:"first_seen_time"`
	LastSeen  time.Time `db:"last_seen_time" json:"last_seen_time"`
	// Current says that the database has not been read with another schema since.
	Current bool `db:"is_current" json:"is_current"`
	// Changes is empty if it is the first schema, or that is not known.
	Changes string    `db:"changes" json:"changes,omitempty"` // how it differs from the schema before
	Target  uuid.UUID `db:"target_id" json:"target_id"`
}

// Filter chooses databases for [Store.History].
type Filter struct {
	// Target is one database; nil means all.
	Target uuid.UUID
	// Group is a target group: the databases of its last list. Job is a job: those of the target
	// groups of its steps of type Drift. Empty means all.
	Group, Job string
	// Options and Fingerprint are those of one schema; a nil fingerprint means any schema, with any
	// options.
	Options     string
	Fingerprint Fingerprint
	// Current leaves out the schemas that databases had before.
	Current bool
	// Limit bounds the rows of [Store.History]; 0 means 1000000.
	Limit int
}

const schemaStateColumns = `SELECT h.target_id, h.server_name, h.database_name, h.options, h.fingerprint, h.objects, h.first_seen_time,
    h.last_seen_time, h.is_current, h.changes
FROM jobs.drift_history AS h`

// apply adds the conditions of the filter.
func (f Filter) apply(w *call.Filter) {
	if f.Target != uuid.Nil {
		w.Add("h.target_id = %s", mssqldb.UniqueIdentifier(f.Target))
	}
	if f.Group != "" {
		w.Add("EXISTS (SELECT 1 FROM jobs.target_group_targets AS g WHERE g.target_id = h.target_id AND g.is_gone = 0 AND g.target_group_name = %s)", f.Group)
	}
	if f.Job != "" {
		w.Add(`EXISTS (
        SELECT 1
        FROM jobs.jobsteps AS j
        INNER JOIN jobs.target_group_targets AS g ON g.target_group_id = j.target_group_id
        WHERE j.command_type = N'Drift' AND g.target_id = h.target_id AND g.is_gone = 0 AND j.job_name = %s
    )`, f.Job)
	}
	if f.Fingerprint != nil {
		w.Add("h.fingerprint = %s AND h.options = %s", []byte(f.Fingerprint), f.Options)
	}
	if f.Current {
		w.Add("h.is_current = 1")
	}
}

// History lists the schemas of databases, by the names of these, the newest schema first.
func (s Store) History(ctx context.Context, f Filter) ([]SchemaState, error) {
	w := call.NewFilter(f.Limit)
	f.apply(w)
	return call.SelectAll[SchemaState](ctx, s.conn, "list the schemas of databases", schemaStateColumns+w.Text()+
		"\nORDER BY h.database_name, h.server_name, h.target_id, h.options, h.first_seen_time DESC\nOFFSET 0 ROWS FETCH NEXT @p1 ROWS ONLY;", w.Args...)
}

// SchemaStateKey is the place of a row in [Store.PageOfHistory].
type SchemaStateKey struct {
	Target    uuid.UUID `json:"t"`
	Options   string    `json:"o"`
	FirstSeen time.Time `json:"f"`
}

// Key is the place of the row.
func (h SchemaState) Key() SchemaStateKey { return SchemaStateKey{h.Target, h.Options, h.FirstSeen} }

// PageOfHistory lists the schemas of databases in the order of the IDs of these, the newest
// schema first.
func (s Store) PageOfHistory(ctx context.Context, f Filter, p controldb.Page[SchemaStateKey]) ([]SchemaState, error) {
	w := call.NewFilter(p.Top)
	f.apply(w)
	if k := p.After; k != nil {
		target, seen := mssqldb.UniqueIdentifier(k.Target), call.Datetime2(k.FirstSeen)
		w.Add(`(h.target_id > %s
        OR (h.target_id = %s AND h.options > %s)
        OR (h.target_id = %s AND h.options = %s AND h.first_seen_time < %s))`, target, target, k.Options, target, k.Options, seen)
	}
	return call.SelectAll[SchemaState](ctx, s.conn, "list the schemas of databases",
		schemaStateColumns+w.Text()+"\nORDER BY h.target_id, h.options, h.first_seen_time DESC"+p.Text(w)+";", w.Args...)
}

// LatestChanges lists schemas that came after others of the same databases, with how they
// differ from these, the newest first.
func (s Store) LatestChanges(ctx context.Context, f Filter, limit int) ([]SchemaState, error) {
	w := call.NewFilter(limit)
	f.apply(w)
	w.Add("h.changes IS NOT NULL")
	return call.SelectAll[SchemaState](ctx, s.conn, "list changes of schemas", schemaStateColumns+w.Text()+
		"\nORDER BY h.first_seen_time DESC, h.target_id, h.options\nOFFSET 0 ROWS FETCH NEXT @p1 ROWS ONLY;", w.Args...)
}

// SameSchema is a schema that databases had when they were last read.
type SameSchema struct {
	// Options say what was compared; empty: the defaults.
	Options     string      `db:"options"`
	Fingerprint Fingerprint `db:"fingerprint"`
	// Objects is 0 if it is not known.
	Objects   int `db:"objects"`
	Databases int `db:"databases"`
	// FirstSeen is since when one of the databases has the schema, NewestSeen since when all of
	// them have it, and LastSeen is when one was last read with it.
	FirstSeen  time.Time `db:"first_seen_time"`
	NewestSeen time.Time `db:"newest_seen_time"`
	LastSeen   time.Time `db:"last_seen_time"`
}

// SameSchemas lists the schemas that databases had when they were last read, by their options, that
// of most databases first.
func (s Store) SameSchemas(ctx context.Context, f Filter, limit int) ([]SameSchema, error) {
	w := call.NewFilter(limit)
	f.Current = true
	f.apply(w)
	return call.SelectAll[SameSchema](ctx, s.conn, "group databases by their schemas", `SELECT h.options, h.fingerprint, MAX(h.objects) AS objects, COUNT(*) AS databases,
    MIN(h.first_seen_time) AS first_seen_time, MAX(h.first_seen_time) AS newest_seen_time, MAX(h.last_seen_time) AS last_seen_time
FROM jobs.drift_history AS h`+w.Text()+`
GROUP BY h.options, h.fingerprint
ORDER BY h.options, COUNT(*) DESC, MIN(h.first_seen_time), h.fingerprint
OFFSET 0 ROWS FETCH NEXT @p1 ROWS ONLY;`, w.Args...)
}

// Baseline is a row of the view jobs.drift_baselines: a schema that somebody declared to be
// right.
type Baseline struct {
	Name        string      `db:"baseline_name" json:"baseline_name"`
	Options     string      `db:"options" json:"options,omitempty"`
	Fingerprint Fingerprint `db:"fingerprint" json:"fingerprint"`
	// Objects is 0 if it is not known.
	Objects int       `db:"objects" json:"objects"`
	Source  string    `db:"source" json:"source" doc:"as server/database"`
	Set     time.Time `db:"set_time" json:"set_time"`
	By      string    `db:"set_by" json:"set_by,omitempty"`
}

const baselineColumns = `SELECT b.baseline_name, b.options, b.fingerprint, b.objects, b.source, b.set_time, b.set_by
FROM jobs.drift_baselines AS b`

// Baselines lists the baselines by their names.
func (s Store) Baselines(ctx context.Context) ([]Baseline, error) {
	return call.SelectAll[Baseline](ctx, s.conn, "list the baselines of schemas", baselineColumns+"\nORDER BY b.baseline_name, b.options;")
}

// Baseline returns the rows of one baseline, by their options. The error is
// [dberror.ErrBaselineNotFound] if there is none.
func (s Store) Baseline(ctx context.Context, name string) ([]Baseline, error) {
	const op = "read the baseline of schemas"
	list, err := call.SelectAll[Baseline](ctx, s.conn, op, baselineColumns+"\nWHERE b.baseline_name = @p1\nORDER BY b.options;", name)
	_, err = call.OnlyRow(list, err, op, dberror.ErrBaselineNotFound)
	return list, err
}

// SetBaseline adds or replaces a baseline: the schema that a database had when an agent last
// read it. The ID of a database that is known suffices.
func (s Store) SetBaseline(ctx context.Context, name string, from targets.Target) error {
	return s.conn.Exec(ctx, "set the baseline of schemas", call.New("jobs.sp_set_drift_baseline").In("baseline_name", name).
		OptText("server_name", from.Server).OptText("database_name", from.Database).In("target_id", from.ID))
}

// DeleteBaseline deletes a baseline.
func (s Store) DeleteBaseline(ctx context.Context, name string) error {
	return s.conn.Exec(ctx, "delete the baseline of schemas", call.New("jobs.sp_delete_drift_baseline").In("baseline_name", name))
}
