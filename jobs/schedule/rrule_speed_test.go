package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestB7 checks that a count does not make the parsing slow, however large it is, and that long
// lists do not (B10).
func TestB7(t *testing.T) {
	every := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, string(rune('0'+i/10))+string(rune('0'+i%10)))
		}
		return strings.Join(list, ",")
	}
	many := func(item string) string { return strings.TrimSuffix(strings.Repeat(item+",", 20_000), ",") }
	for _, c := range []struct {
		body  string
		limit time.Duration
	}{
		{"FREQ=DAILY;BYHOUR=" + every(24) + ";BYMINUTE=" + every(60) + ";BYSECOND=" + every(60) + ";COUNT=9007199254740992", time.Millisecond},
		{"FREQ=YEARLY;BYWEEKNO=53;BYDAY=SU;BYSETPOS=1;COUNT=1000", time.Millisecond},
		{"FREQ=YEARLY;BYWEEKNO=53;BYDAY=SU;BYSETPOS=1;COUNT=9007199254740992", time.Millisecond},
		{"FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=1;COUNT=9007199254740992", time.Millisecond},
		{"FREQ=HOURLY;INTERVAL=23;BYHOUR=0;BYYEARDAY=366;BYDAY=MO", 5 * time.Millisecond},
		{"FREQ=YEARLY;BYDAY=MO;BYWEEKNO=" + many("53"), 5 * time.Millisecond},
		{"FREQ=MONTHLY;BYDAY=MO;BYSETPOS=" + many("-1"), 5 * time.Millisecond},
		{"FREQ=YEARLY;BYYEARDAY=" + many("-1"), 5 * time.Millisecond},
		{"FREQ=MONTHLY;BYDAY=" + strings.TrimSuffix(strings.Repeat("1TU,", 16_000), ","), 5 * time.Millisecond},
		{"FREQ=SECONDLY;INTERVAL=999983;BYHOUR=3;BYMINUTE=3,4;COUNT=50001", 5 * time.Millisecond},
		{"FREQ=SECONDLY;INTERVAL=86399;BYHOUR=3;BYMINUTE=3;BYSECOND=3;COUNT=9007199254740992", 5 * time.Millisecond},
		{"FREQ=SECONDLY;INTERVAL=7;BYHOUR=3;BYMINUTE=3;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;COUNT=20", 5 * time.Millisecond},
	} {
		for _, zone := range []string{"Europe/Berlin", "Australia/Lord_Howe"} {
			best := time.Hour
			for try := 0; try < 3 || try < 50 && best > c.limit; try++ {
				begun := time.Now()
				plan, err := Parse(KindRRule, []byte(c.body), Options{Start: time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC), Zone: zone})
				require.NoError(t, err)
				after := plan.Start.Add(-time.Second)
				for range 20 {
					next, ok := plan.Next(after)
					if after = next; !ok {
						break
					}
				}
				best = min(best, time.Since(begun))
			}
			require.Less(t, best, c.limit, "%.80s in %s", c.body, zone)
			t.Logf("%8s %.80s in %s", best, c.body, zone)
		}
	}
}
