package page

import (
	"context"

	"github.com/google/uuid"
)

// The parameters of an address that chooses databases of a run in its grid. Without scripts, the
// form of the grid makes it.
const (
	// ChoiceParam says that only chosen databases count, also if there are none.
	ChoiceParam = "choose"
	// ChoiceAll chooses all that the filter finds, but for the exceptions; ChoiceTarget is one of
	// the chosen databases, and ChoiceExcept is an exception. Both may be there several times.
	ChoiceAll, ChoiceTarget, ChoiceExcept = "all", "target", "except"
	// ChoiceField is the field of a form that has the IDs of the chosen databases, separated by
	// commas: what was confirmed is what runs, however the filter would choose now.
	ChoiceField = "targets"
)

// Choice is databases of a run that a person has chosen: the rows that were ticked, or all that a
// filter finds.
type Choice struct {
	Run     uuid.UUID
	Job     string
	Version int // of the run
	Active  bool
	// Unreached says that the run has not resolved the target group of a step: a rerun does.
	Unreached bool
	// Of is the number of databases of the run.
	Of        int
	Databases []ChosenDatabase // by server and name
	// Problem is a sentence that says why nothing may run on them; empty: it may.
	Problem string
}

// ChosenDatabase is a chosen database.
type ChosenDatabase struct {
	ID               uuid.UUID
	Server, Database string
	// Ended has the final states of its steps, as jobs.sp_rerun_job_execution names them.
	Ended []string
}

// Chooser returns the choice of a request: of its form, or of its address.
type Chooser func(ctx context.Context, r *Request, run uuid.UUID) (*Choice, error)

// Chooses reports whether a request is about chosen databases of a run.
func (r *Request) Chooses() bool { return r.Query(ChoiceParam) != "" }
