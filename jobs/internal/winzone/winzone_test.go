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
	require.Greater(t, len(Names()), 130)
	for name, zone := range zones().byName {
		_, err := time.LoadLocation(zone)
		require.NoError(t, err, name)
	}
}

// Both directions: a name leads to a zone that leads back to the name, and old names of zones lead
// to the same Windows name as the present ones.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		zone, ok := IANA(name)
		require.True(t, ok, name)
		back, ok := Of(zone)
		require.True(t, ok, name)
		require.Equal(t, name, back)
	}
	for zone, want := range map[string]string{"Europe/Berlin": "W. Europe Standard Time", "Asia/Kolkata": "India Standard Time",
		"Asia/Calcutta": "India Standard Time", "UTC": "UTC", "Etc/UTC": "UTC"} {
		name, ok := Of(zone)
		require.True(t, ok, zone)
		require.Equal(t, want, name)
	}
	_, ok := Of("Europe/Vienna")
	require.False(t, ok, "the name of Europe/Berlin")
}
