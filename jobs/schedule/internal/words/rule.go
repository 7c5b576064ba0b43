package words

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
)

// Rule is a parsed rule. Exactly one of At, Grid, and Times with Days applies, in this order.
type Rule struct {
	// At is the instant of a rule with one instant; zero means another rule.
	At time.Time
	// Grid is elapsed time. Days, Hours, Minutes and Seconds filter it by the wall clock.
	Grid *engine.Grid
	// OnClock means that Grid counts on the wall clock: its Base is a civil second. The filters
	// concern the beginning of a step, to which the offsets are added.
	OnClock bool
	// Moving means that each run begins one step of Grid after the start of the run before it.
	Moving bool
	// Hours, Minutes and Seconds are the clock times at which a Grid counts; 0 means all.
	Hours            uint32
	Minutes, Seconds uint64
	// Times are the clock times of a rule on the wall clock.
	Times engine.Times
	Days  Days
	// Positions are the places of the instants that count among all instants of a Period
	// (BYSETPOS); nil means that all count. Period is month, year, or week.
	Positions []int
	Period    string
	// Also is a further instant before the others; zero means none.
	Also time.Time
	// Until is the last possible instant and Runs is the number of instants of the rule alone,
	// before With and Without; zero means no limit.
	Until time.Time
	Runs  int64
	// With are further instants, and Without are instants that do not count, ascending. OnlyWith
	// means that With are the only instants.
	With, Without []time.Time
	OnlyWith      bool
	// Remarks are notes of the dialect about what may be misread, one sentence each.
	Remarks []string
}

// Days is a set of days. A day must match all conditions. The zero value of a field is no
// condition.
type Days struct {
	Months uint16 // bits 1 to 12
	// Years are years of the calendar, ascending. DivisibleYears are years that a number divides.
	Years          []Range
	DivisibleYears []int
	// MonthDays, Workdays and BeforeLastWorkday are one condition: a day matches any of them.
	MonthDays []Range
	// Workdays are days of the month that stand for the nearest day from Monday to Friday.
	Workdays []int
	// BeforeLastWorkday are numbers of days before the last day from Monday to Friday of the month;
	// each is one more day that matches.
	BeforeLastWorkday []int
	// OrLast means that the last day of the month replaces a day that the month does not have.
	OrLast bool
	// Weekdays (bit 0 is Monday) and Nth are one condition: a day matches any of them.
	Weekdays uint8
	Nth      []engine.Occurrence
	// NthOfYear means that Nth counts within the year and not within the month.
	NthOfYear bool
	YearDays  []int
	Weeks     []int
	// WeekStart is the first day of a week, for Weeks and for positions in weeks; 0 is Monday.
	WeekStart int
	// Either means that a day matches the days of the month or the weekdays, and not both.
	Either bool
	// Every is the distance of periods.
	Every Every
}

// Every is every N-th Unit, counted from the one that contains From. N 0 and 1 mean each.
type Every struct {
	N    int64
	Unit string // day, week, month or year
	From civil.Date
}

// Range is a range of days of a month or of years. Negative days count from the end of the month.
// Step 0 means 1.
type Range struct{ From, To, Step int }

// Set returns the ranges of the values of a mask.
func Set(mask uint64) []Range {
	var list []Range
	for n := 0; n < 64; n++ {
		if mask>>n&1 == 0 {
			continue
		}
		if last := len(list) - 1; last >= 0 && list[last].To == n-1 {
			list[last].To = n
		} else {
			list = append(list, Range{From: n, To: n})
		}
	}
	return list
}

// Values returns a range of one value for each value.
func Values(values []int) []Range {
	var list []Range
	for _, n := range values {
		list = append(list, Range{From: n, To: n})
	}
	return list
}

// Runs returns ascending numbers as ranges. Four and more in equal distances become one.
func Runs(list []int) []Range {
	var out []Range
	for i := 0; i < len(list); {
		n := 1
		for i+n < len(list) && (n == 1 || list[i+n]-list[i+n-1] == list[i+1]-list[i]) {
			n++
		}
		switch {
		case n >= minRun || n > 1 && list[i+1] == list[i]+1:
			out = append(out, Range{From: list[i], To: list[i+n-1], Step: list[i+1] - list[i]})
			i += n
		default:
			out = append(out, Range{From: list[i], To: list[i]})
			i++
		}
	}
	return out
}
