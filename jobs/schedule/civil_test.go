package schedule_test

import (
	"testing"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// FuzzCivil checks that day numbers and dates agree with time.Time in both directions.
func FuzzCivil(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(-719162))
	f.Add(int64(11016))
	f.Fuzz(func(t *testing.T, day int64) {
		day = max(day, -(day+1))%3652059 - 719162 // the years 1 to 9999
		want := time.Unix(day*civil.DaySeconds, 0).UTC()
		got := civil.DateOf(day)
		if got.Year != want.Year() || got.Month != want.Month() || got.Day != want.Day() || got.DayNumber() != day ||
			(civil.Weekday(day)+1)%7 != int(want.Weekday()) || civil.MonthLength(got.Year, got.Month) != want.AddDate(0, 1, -want.Day()).Day() && want.Day() < 29 {
			t.Fatalf("%d: %+v, %s", day, got, want)
		}
	})
}
