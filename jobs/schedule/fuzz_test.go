package schedule

import (
	"encoding/json"
	"testing"
	"time"
)

// requireSound says what holds for every plan: instants ascend in whole seconds, and each is the answer
// one second before itself.
func requireSound(t *testing.T, plan *Plan, after time.Time) {
	t.Helper()
	for range 3 {
		begun := time.Now()
		next, ok := plan.Next(after)
		if spent := time.Since(begun); spent > time.Second {
			t.Fatalf("%s: %s", plan.Kind, spent)
		}
		if !ok {
			return
		}
		if !next.After(after) || next.After(LastInstant) || next.Nanosecond() != 0 {
			t.Fatalf("after %s: %s", after, next)
		}
		if again, ok := plan.Next(next.Add(-time.Second)); !ok || !again.Equal(next) {
			t.Fatalf("%s is due after %s, and not one second before itself: %s", next, after, again)
		}
		after = next
	}
}

// Any text is a plan that is sound, or an error that has faults which say something.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"testdata/vectors.json", "testdata/further.json", "testdata/faults.json"} {
		for _, v := range readVectors(f, file) {
			for i, kind := range Kinds() {
				if string(kind) == v.Kind {
					f.Add(uint8(i), v.Spec, int64(1_767_225_600))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, spec string, after int64) {
		at := time.Unix(-62135596800+abs(after)%315537897599, 0)
		k := Kinds()[int(kind)%len(Kinds())]
		begun := time.Now()
		plan, err := Parse(k, []byte(spec), Options{Start: time.Date(2026, 1, 31, 8, 30, 0, 0, time.UTC), assumed: at})
		if spent := time.Since(begun); spent > 5*time.Second {
			t.Fatalf("%s %s: %s", k, spec, spent)
		}
		if err != nil {
			text, marshalErr := json.Marshal(ErrorJSON(err))
			if marshalErr != nil || !json.Valid(text) || len(err.(*Error).Faults) == 0 {
				t.Fatalf("%s: %s %v", spec, text, marshalErr)
			}
			return
		}
		requireSound(t, plan, at)
		CalendarNames(spec)
		// What stands for a relative time is that instant, whenever it is read.
		made := Options{Created: time.Date(2026, 1, 31, 8, 30, 0, 0, time.UTC)}
		settled := Settled(k, spec, made)
		if settled == spec {
			return
		}
		was, err := Parse(k, []byte(spec), made)
		if err != nil {
			return
		}
		is, err := Parse(k, []byte(settled), made)
		if err != nil {
			t.Fatalf("%s becomes %s: %s", spec, settled, err)
		}
		want, due := was.Next(made.Created.Add(-time.Second))
		got, still := is.Next(made.Created.Add(-time.Second))
		if due != still || !got.Equal(want) {
			t.Fatalf("%s becomes %s: %s, and not %s", spec, settled, got, want)
		}
	})
}

func FuzzDate(f *testing.F) {
	for _, text := range []string{"2013-02-08", "2013-W06-5", "2013-039", "2013-02-08 09+07:00", "20130208T093000,5Z", "Fri, 08 Feb 2013 09:00 EST"} {
		f.Add(text, "YYYY-MM-DD")
	}
	f.Add("2015-10-20 04:30 +0000", "YYYY-MM-DD HH:mm Z")
	f.Add("Do of March 4pm", "Do [of] MMMM ha")
	f.Fuzz(func(t *testing.T, text, format string) {
		check := func(m DateTime, err error) {
			if err == nil && (m.Second < 0 || m.Second >= DaySeconds || m.Offset < -86400 || m.Offset > 86400) {
				t.Fatalf("%q %q: %+v", text, format, m)
			}
		}
		check(ParseDate(text))
		if tokens, unknown := splitFormat(format); unknown == "" && len(format) <= maxFormat {
			check(parseFormatted(text, tokens, time.Date(2026, 1, 31, 8, 30, 0, 0, time.UTC)))
		}
	})
}

// Days of the calendar agree with time.Time, forth and back.
func FuzzCivil(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(-719162))
	f.Add(int64(11016))
	f.Fuzz(func(t *testing.T, day int64) {
		day = abs(day)%3652059 - 719162 // the years 1 to 9999
		want := time.Unix(day*DaySeconds, 0).UTC()
		got := DateOf(day)
		if got.Year != want.Year() || got.Month != want.Month() || got.Day != want.Day() || got.DayNumber() != day ||
			(Weekday(day)+1)%7 != int(want.Weekday()) || MonthLength(got.Year, got.Month) != want.AddDate(0, 1, -want.Day()).Day() && want.Day() < 29 {
			t.Fatalf("%d: %+v, %s", day, got, want)
		}
	})
}
