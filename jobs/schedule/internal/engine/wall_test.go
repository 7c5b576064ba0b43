package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each segment contains its instant, follows the one before it without a hole, and has the offsets
// of time.Time. Beyond 2037, time.ZoneBounds alone does not ensure this.
func TestSegmentsFollowEachOther(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca",
		"Europe/Dublin", "Asia/Kolkata", "Antarctica/Troll",
	} {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		at := time.Date(1890, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		end := time.Date(2450, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		before := offsetAt(zone, at)
		for at < end {
			s := SegmentAt(zone, at)
			require.LessOrEqual(t, s.Start, at, "%s at %s", zone, time.Unix(at, 0).UTC())
			require.Greater(t, s.End, at, "%s at %s", zone, time.Unix(at, 0).UTC())
			require.Equal(t, before, func() int64 {
				if s.Start == at {
					return s.before
				}
				return before
			}(), "%s at %s", zone, time.Unix(at, 0).UTC())
			if s.End == forever {
				break
			}
			for _, probe := range []int64{at, (at + s.End) / 2, s.End - 1} {
				require.Equal(t, s.Offset, offsetAt(zone, probe), "%s at %s", zone, time.Unix(probe, 0).UTC())
			}
			before, at = s.Offset, s.End
		}
	}
}
