package schedule

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	limits "github.com/jobagent/jobagent/testenv/bounds" // describe.go has a function of its name
)

// requireSound checks that the instants of a plan ascend in whole seconds, and that Next returns
// each of them one second before itself.
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

// FuzzParse checks that Parse returns a sound plan or an error with complete faults for any text.
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
		var plan *Plan
		var err error
		limits.Allocations(t, len(spec), 2<<20, 4000, func() {
			plan, err = Parse(k, []byte(spec), Options{Start: time.Date(2026, 1, 31, 8, 30, 0, 0, time.UTC), assumed: at})
		})
		if spent := time.Since(begun); spent > 5*time.Second {
			t.Fatalf("%s %s: %s", k, spec, spent)
		}
		if err != nil {
			text, marshalErr := json.Marshal(ErrorJSON(err))
			var all *Error
			if marshalErr != nil || !json.Valid(text) || !errors.As(err, &all) || len(all.Faults) == 0 {
				t.Fatalf("%s: %s %v", spec, text, marshalErr)
			}
			return
		}
		requireSound(t, plan, at)
		CalendarNames(spec)
		// The replacement of a relative time is the same instant at any time of parsing.
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
