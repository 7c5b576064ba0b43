package winzone

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestIANA(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"W. Europe Standard Time": "Europe/Berlin", " w. europe STANDARD time ": "Europe/Berlin", "UTC": "UTC", "Coordinated Universal Time": "UTC",
	} {
		zone, ok := IANA(name)
		require.True(t, ok, name)
		require.Equal(t, want, zone)
	}
	_, ok := IANA("Europe/Berlin")
	require.False(t, ok)
}

// Go's time zone database must contain every zone of the table.
func TestZonesExist(t *testing.T) {
	t.Parallel()
	require.Greater(t, len(zones()), 130)
	for name, zone := range zones() {
		_, err := time.LoadLocation(zone)
		require.NoError(t, err, name)
	}
}
