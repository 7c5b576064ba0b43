package syntax

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/internal/winzone"
)

func TestLoadZone(t *testing.T) {
	t.Parallel()
	for name, near := range map[string]string{
		"CET": "Europe/Berlin", "pst": "America/Los_Angeles", "europe/berlin": "Europe/Berlin", "Berlin": "Europe/Berlin", "Europe/Berln": "Europe/Berlin", "Berln": "Europe/Berlin", "Brelin": "Europe/Berlin",
		"Local": "UTC", "New York": "America/New_York", "../etc/passwd": "", "": "", strings.Repeat("Europe/Berlin", 100): "",
		"W. Europe Standart Time": "W. Europe Standard Time", "Pacific Daylight Time": "Pacific Standard Time", "AUS Easter Standard Time": "AUS Eastern Standard Time",
		"UTC+1": "Etc/GMT-1", "GMT-05:00": "Etc/GMT+5", "+01:00": "Etc/GMT-1", "UTC+05:30": "", "UTC+0": "UTC", "UTC+99": "",
		"CET-1CEST,M3.5.0,M10.5.0/3": "Europe/Berlin", "EST5": "America/New_York", "IST": "", "cst": "",
	} {
		_, err := LoadZone(name)
		var all *Error
		require.ErrorAs(t, err, &all, name)
		require.Equal(t, near, all.Faults[0].Nearest, name)
		if near != "" {
			_, err := LoadZone(near)
			require.NoError(t, err, name)
		}
	}
	for _, name := range Zones() {
		if _, short := abbreviations[name]; short {
			continue
		}
		zone, err := LoadZone(name)
		require.NoError(t, err, name)
		require.Equal(t, name, zone.String())
	}
}

// A Windows name leads to its IANA zone in any case, and the zone has the IANA name: that is what a
// verdict stores.
func TestLoadZoneOfWindows(t *testing.T) {
	t.Parallel()
	for _, name := range winzone.Names() {
		want, ok := winzone.IANA(name)
		require.True(t, ok)
		for _, given := range []string{name, strings.ToUpper(name), strings.ToLower(name)} {
			zone, err := LoadZone(given)
			require.NoError(t, err, given)
			require.Equal(t, want, zone.String(), given)
		}
	}
	zone, err := LoadZone("utc")
	require.NoError(t, err)
	require.Same(t, time.UTC, zone, "the Windows name UTC")
}

// What is refused says why.
func TestLoadZoneExplains(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]string{
		"PST":                    "PST is an abbreviation, which does not say when clocks are changed; try America/Los_Angeles",
		"CET":                    "CET is an abbreviation, which does not say when clocks are changed; try Europe/Berlin",
		"IST":                    "IST is an abbreviation for several zones: Asia/Kolkata, Asia/Jerusalem or Europe/Dublin",
		"GMT+2":                  "an offset does not say when clocks are changed, and Etc/GMT-1 is one hour ahead of UTC; try Etc/GMT-2",
		"PST8PDT,M3.2.0,M11.1.0": "a rule of the variable TZ is not the name of a zone; try America/Los_Angeles",
	} {
		_, err := LoadZone(name)
		require.EqualError(t, err, "invalid timeZone "+Quote(name)+": want "+ZoneWords+"; "+why)
	}
	_, err := LoadZone("EST5EDT")
	require.NoError(t, err, "a zone of the IANA data with rules of its own")
}
