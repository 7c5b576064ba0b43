package schedule

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/elastic"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// The types below are declared where the dialects can import them, in packages under internal.

// Schedule is a set of due instants. Its method Next(after time.Time) (time.Time, bool) returns the
// earliest due instant strictly after the given one, in UTC. It returns false if there is none.
type Schedule = engine.Schedule

// LastInstant is the last whole second of SQL Server's datetime2. Nothing is due later.
var LastInstant = engine.LastInstant

// Gap is the rule for a clock time that does not exist because clocks were moved forward (D-Z8).
type Gap = engine.Gap

// The rules for a gap.
const (
	// GapShift moves the clock time forward by the length of the gap (D-Z3).
	GapShift = engine.GapShift
	// GapSkip drops the clock time.
	GapSkip = engine.GapSkip
	// GapAtEnd replaces all clock times in the gap by one due instant at the end of the gap.
	GapAtEnd = engine.GapAtEnd
)

// Overlap is the rule for a clock time that occurs twice because clocks were moved back (D-Z8).
type Overlap = engine.Overlap

// The rules for an overlap.
const (
	// OverlapFirst uses the earlier of the two instants (D-Z4).
	OverlapFirst = engine.OverlapFirst
	// OverlapSecond uses the later of the two instants.
	OverlapSecond = engine.OverlapSecond
	// OverlapBoth uses both instants.
	OverlapBoth = engine.OverlapBoth
)

// Fault is one error in a schedule. Path is the invalid element under the name that its system
// uses; an empty Path means the whole text. Value is the value of the element as JSON. Allowed
// describes the valid values. Nearest is the valid spelling nearest to the value, or empty.
type Fault = syntax.Fault

// Error holds all faults of a schedule, at least one, in its field Faults. They are in the order of
// the schedule's elements.
type Error = syntax.Error

// Zones returns the names of all IANA zones, links included, sorted.
func Zones() []string { return syntax.Zones() }

// LoadZone returns the zone of an IANA name or of a Windows name, in any case, under its IANA name
// (D-Z1). It refuses abbreviations, "Local" and IANA names in another case. The error is a *Error
// with the path timeZone.
func LoadZone(name string) (*time.Location, error) { return syntax.LoadZone(name) }

// Interval is a value of @schedule_interval_type.
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

// Intervals returns every interval.
func Intervals() []Interval { return elastic.Intervals() }

// Elastic is an interval schedule. It is due at Start + k × Count × Interval for k = 0, 1, 2,
// …, until End. With the interval Once it is due only at Start. All times are in UTC. Count is 1
// or more. If the start of the definition is in the year 1, Start is the time of activation
// (decision 10). A fraction of a second in Start is rounded up. An instant equal to End is still
// due. A zero End means no end.
type Elastic = elastic.Schedule
