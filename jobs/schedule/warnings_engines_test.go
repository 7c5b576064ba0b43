package schedule

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"
)

// TestW4: a line whose day fields another engine combines differently has a warning.
func TestW4(t *testing.T) {
	for _, test := range []struct {
		kind     Kind
		spec     string
		warnings []string // parts of them
	}{
		{KindCron5, "0 0 */2 * 1", []string{"must match both day fields"}},
		{KindCron6, "0 0 0 1 * */2", []string{"must match both day fields"}},
		{KindCron5, "0 0 * * 1", nil},
		{KindCron5, "0 0 */1 * 1", nil},
		{KindCron5, "0 0 */2 * *", nil},
		{KindCron5, "0 0 */2 * */1", nil},
		{KindCron5, "0 0 5,* * 1", []string{"both restricted", "that matches either day field counts"}},
		{KindCron5, "0 0 13 * 5", []string{"both restricted"}},
		{KindCron5, "0 0 * * 7", []string{"the weekday 7 is Sunday"}},
		{KindCron5, "0 0 * * fri-sun", nil},
		{KindCron5, "0 0 * * 0-sun", []string{"0-sun is Sunday alone"}},
		{KindQuartz, "0 0 0 ? * 2-6", []string{"1 is Sunday"}},
		{KindQuartz, "0 0 0 ? * 6#3", []string{"1 is Sunday"}},
		{KindQuartz, "0 0 0 ? * MON-FRI", nil},
		{KindQuartz, "0 0 0 ? * MON#2", nil},
		{KindQuartz, "0 0 0 ? * 1-7", nil},
		{KindQuartz, "0 0 0 31W * ?", []string{"31W has no run"}},
		{KindQuartz, "0 0 0 31W JAN ?", nil},
		{KindQuartz, "0 0 0 15W * ?", nil},
	} {
		plan, err := Parse(test.kind, []byte(test.spec), Options{})
		require.NoError(t, err, test.spec)
		require.Len(t, plan.Warnings, len(test.warnings), "%s: %q", test.spec, plan.Warnings)
		for i, part := range test.warnings {
			require.Contains(t, plan.Warnings[i], part, test.spec)
		}
	}
}

// TestWarningsOfOtherEnginesAreExact compares with robfig/cron itself: a random line has a warning
// about its day fields if and only if the days differ.
func TestWarningsOfOtherEnginesAreExact(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 18))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Second)
	differ, warned := 0, 0
	for range 150 {
		day := func(low, high int) string {
			n := low + random.IntN(high-low)
			return pick("*", "*/2", "*/1", "*/9", fmt.Sprint(n), fmt.Sprintf("%d-%d", n, high), fmt.Sprintf("%d,*", n), fmt.Sprintf("*,%d", n),
				fmt.Sprintf("%d-%d/2", n, high), fmt.Sprintf("*/3,%d", n), "1-31"[:2+2*min(1, high/31)])
		}
		weekday := day(0, 6)
		if weekday == "1-" {
			weekday = "1-6"
		}
		line := fmt.Sprintf("0 0 %s %s %s", day(1, 31), pick("*", "*", "2", "*/3"), weekday)
		theirs, err := cron.ParseStandard("CRON_TZ=UTC " + line)
		require.NoError(t, err, line)
		plan, err := Parse(KindCron5, []byte(line), Options{})
		if err != nil {
			continue // it is never due
		}
		same := true
		for a, b := from, from; same && a.Year() < 2029; {
			b = theirs.Next(b).UTC()
			a, _ = plan.Next(a)
			same = a.Equal(b)
		}
		warning := strings.Contains(strings.Join(plan.Warnings, "\n"), "robfig/cron (Kubernetes)")
		if !same {
			differ++
		}
		if warning {
			warned++
		}
		require.Equal(t, !same, warning, "%s: %q", line, plan.Warnings)
	}
	require.Greater(t, differ, 10)
	require.Less(t, warned, 100)
}
