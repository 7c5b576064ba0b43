package schedule

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/elastic"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/suggest"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// The types below are declared where the dialects can import them, in packages under internal.

// Schedule is a set of due instants. Its method Next(after time.Time) (time.Time, bool) returns the
// earliest due instant strictly after the given one, in UTC; false: there is none.
type Schedule = engine.Schedule

// LastInstant is the end of what SQL Server's datetime2 can hold, in whole seconds. Nothing is due
// later.
var LastInstant = engine.LastInstant

// Gap says what becomes of a clock time that does not exist, because clocks were moved forward over
// it (D-Z8).
type Gap = engine.Gap

// The answers to a gap.
const (
	// GapShift moves the clock time forward by the length of the gap (D-Z3).
	GapShift = engine.GapShift
	// GapSkip drops the clock time.
	GapSkip = engine.GapSkip
	// GapAtEnd makes all clock times in the gap due once, when the gap ends.
	GapAtEnd = engine.GapAtEnd
)

// Overlap says which of two equal clock times counts, when clocks were moved back (D-Z8).
type Overlap = engine.Overlap

// The answers to an overlap.
const (
	// OverlapFirst is the earlier of the two (D-Z4).
	OverlapFirst = engine.OverlapFirst
	// OverlapSecond is the later.
	OverlapSecond = engine.OverlapSecond
	// OverlapBoth counts both.
	OverlapBoth = engine.OverlapBoth
)

// Fault is one thing that is wrong with a schedule. Its fields, all texts, are Path (the element at
// fault as its system names it; empty: the text as a whole), Value (what the element has, as
// JSON), Allowed (what it may have) and Nearest (the valid spelling that is nearest to the value;
// empty when none is near).
type Fault = syntax.Fault

// Error holds all faults of a schedule, at least one, in its field Faults, in the order of the
// schedule's elements.
type Error = syntax.Error

// Nearest returns the candidate that a misspelled word most likely means; empty when none is near.
func Nearest(word string, candidates []string) string { return suggest.Nearest(word, candidates) }

// Zones returns the names of all IANA zones, links included, sorted.
func Zones() []string { return syntax.Zones() }

// LoadZone finds the zone of an IANA name (D-Z1). Abbreviations, names of Windows, "Local" and
// names in another case are refused; the error is a *Error with the path timeZone.
func LoadZone(name string) (*time.Location, error) { return syntax.LoadZone(name) }

// Interval is @schedule_interval_type.
type Interval = elastic.Interval

// The intervals of Azure Elastic Jobs, in their canonical spelling.
const (
	Once    = elastic.Once
	Minutes = elastic.Minutes
	Hours   = elastic.Hours
	Days    = elastic.Days
	Weeks   = elastic.Weeks
	Months  = elastic.Months
)

// ParseInterval finds the interval that s spells in any case (decision 29). The error is a *Error.
func ParseInterval(s string) (Interval, error) { return elastic.ParseInterval(s) }

// Elastic is an interval schedule: due at Start + k × Count × Interval for k = 0, 1, 2, …, while
// not after End; Once is due at Start only. All times are in UTC. Count is 1 or more. If the
// start of the definition is in the year 1, Start is the time of activation (decision 10). A
// fraction of a second in Start is rounded up. An instant equal to End is still due; a zero End
// means no end.
type Elastic = elastic.Schedule
