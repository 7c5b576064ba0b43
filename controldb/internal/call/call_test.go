package call

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDatetime2KeepsSevenDigits(t *testing.T) {
	zone := time.FixedZone("", 3600)
	require.Equal(t, "2026-01-02T02:04:05.1234567", Datetime2(time.Date(2026, 1, 2, 3, 4, 5, 123456789, zone)))
	require.Equal(t, "0001-01-01T00:00:00.0000000", Datetime2(time.Time{}))
}

func TestSecondsRoundUp(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 1, time.Millisecond: 1, time.Second: 1, 1001 * time.Millisecond: 2, time.Hour: 3600} {
		require.Equal(t, want, Seconds(d), d)
	}
}

func TestCallOmitsMissingArguments(t *testing.T) {
	c := New("p").In("a", 1).OptText("b", "").OptTime("c", time.Time{})
	Opt[int](c, "d", nil)
	require.Len(t, c.Args, 1)
}
