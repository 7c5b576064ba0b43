package controldb

import (
	"context"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/targets"
)

// DriftVerdict says what became of a schema that was recorded.
type DriftVerdict string

const (
	// DriftAlike, DriftDiffers, DriftRecorded and DriftMissing are outcomes: the schema is as it
	// should be, it is not, there is nothing to compare it with, and the baseline does not exist.
	DriftAlike    DriftVerdict = "Alike"
	DriftDiffers  DriftVerdict = "Differs"
	DriftRecorded DriftVerdict = "Recorded"
	DriftMissing  DriftVerdict = "Missing"
	// DriftNeedsParts means that the call is to be repeated with the parts of the schema.
	DriftNeedsParts DriftVerdict = "NeedsParts"
	// DriftNeedsReference means that the database AgainstTarget is to be read and recorded first.
	DriftNeedsReference DriftVerdict = "NeedsReference"
	// DriftRefused means that the term does not hold the attempt any more.
	DriftRefused DriftVerdict = "Refused"
)

// ReadSchema is a schema that an attempt of a step of type Drift has read.
type ReadSchema struct {
	Task TaskID
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
	// Against is None, Majority, Database or Baseline. AgainstTarget is the id of the database, and
	// AgainstName its names, or the name of the baseline.
	Against       string
	AgainstTarget uuid.UUID
	AgainstName   string
}

// RecordDrift records the schema of a database, and says whether it is as it should be, with a
// message. It returns [ErrTermEnded] when the term has ended.
func (s *Store) RecordDrift(ctx context.Context, term TermID, r ReadSchema) (verdict DriftVerdict, message string, err error) {
	c := newCall("jobs_internal.record_drift").forTerm(term).
		in("task_id", int64(r.Task)).in("attempt", int64(r.Attempt)).
		in("target_id", r.Target.ID).in("server_name", r.Target.Server).in("database_name", r.Target.Database).
		in("options", r.Options).in("fingerprint", r.Fingerprint[:]).in("objects", int64(r.Objects)).
		optText("parts", r.Parts).in("against", r.Against).optText("against_name", r.AgainstName)
	if r.Claim != uuid.Nil {
		c.in("claim_id", r.Claim)
	}
	if r.AgainstTarget != uuid.Nil {
		c.in("against_id", r.AgainstTarget)
	}
	err = s.query(ctx, "record a schema", c, scanOne(&verdict, &message))
	return verdict, message, err
}
