package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoadZone(t *testing.T) {
	t.Parallel()
	for name, near := range map[string]string{
		"CET": "Europe/Berlin", "pst": "America/Los_Angeles", "europe/berlin": "Europe/Berlin", "Berlin": "Europe/Berlin", "Europe/Berln": "Europe/Berlin",
		"W. Europe Standard Time": "Europe/Berlin", "Local": "UTC", "utc": "UTC", "New York": "America/New_York", "../etc/passwd": "",
	} {
		_, err := LoadZone(name)
		var all *Error
		require.ErrorAs(t, err, &all, name)
		if near != "" {
			require.Equal(t, near, all.Faults[0].Nearest, name)
		}
	}
	for _, name := range Zones() {
		if _, short := abbreviations[name]; short {
			continue
		}
		_, err := LoadZone(name)
		require.NoError(t, err, name)
	}
}
