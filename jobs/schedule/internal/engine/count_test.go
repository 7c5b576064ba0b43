package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestNth compares the n-th instants of schedules with those that Next enumerates.
func TestNth(t *testing.T) {
	t.Parallel()
	several := Instants{10, 20, 30}
	for name, s := range map[string]Schedule{
		"instants":           several,
		"one before others":  Union{A: Single{At: time.Unix(5, 0)}, B: several},
		"one that is first":  Union{A: Single{At: time.Unix(10, 0)}, B: several},
		"one in a bound":     Bounded{Inner: Union{A: Single{At: time.Unix(5, 0)}, B: several}, First: time.Unix(8, 0), Last: time.Unix(25, 0)},
		"without an instant": Without{Inner: several, Excluded: []int64{20}},
		"no schedule":        Instants{},
	} {
		for half := range int64(70) { // also between seconds
			from := time.Unix(half/2, half%2*5e8)
			at := from.Add(-time.Nanosecond)
			for n, more := int64(1), true; n <= 5; n++ {
				if more {
					at, more = s.Next(at)
				}
				got, found, decided := Nth(s, from, n)
				assert.True(t, decided)
				assert.Equal(t, more, found, "%s: instant %d from %s", name, n, from)
				if more {
					assert.True(t, at.Equal(got), "%s: instant %d from %s: %s, want %s", name, n, from, got, at)
				}
			}
		}
	}
}
