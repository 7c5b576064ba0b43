package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImpossibleItems checks that an item that never matches beside others is named (B10), and that
// no item is named that does match.
func TestImpossibleItems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind       Kind
		text, want string
	}{
		{KindCron5, "0 0 15,30 2 *", "dayOfMonth 30 never matches with month 2"},
		{KindCron5, "0 0 31 4,5 *", "month 4 never matches with dayOfMonth 31"},
		{KindCron5, "0 0 31 4 mon", "dayOfMonth 31 never matches with month 4; only the day of week counts"},
		{KindCron6, "0 0 0 1,31 2,4 ?", "dayOfMonth 31 never matches with month 2,4"},
		{KindQuartz, "0 0 0 1,L-29 2 ?", "dayOfMonth L-29 never matches with month 2"},
		{KindQuartz, "0 0 0 31W,1W 6 ?", "dayOfMonth 31W never matches with month 6"},
		{KindSAP, `{"cron": "* 2 1,30 * 0 0 0"}`, "day 30 never matches beside the other fields of the date"},
		{KindSAP, `{"cron": "2027,2028 2 29 * 0 0 0"}`, "year 2027 never matches beside the other fields of the date"},
	} {
		plan, err := Parse(c.kind, []byte(c.text), Options{})
		require.NoError(t, err, c.text)
		require.Contains(t, plan.Warnings, c.want, c.text)
	}
	for kind, text := range map[Kind]string{
		KindCron5: "0 0 29,31 1,2,3 *", KindCron6: "0 0 0 1-31 2 *", KindQuartz: "0 0 0 29,28 2 ?", KindSAP: `{"cron": "* 1,4 30,-1 * 0 0 0"}`,
	} {
		plan, err := Parse(kind, []byte(text), Options{})
		require.NoError(t, err, text)
		for _, w := range plan.Warnings {
			require.NotContains(t, w, "never matches", text)
		}
	}
}
