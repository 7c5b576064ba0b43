package schedule

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Windows name is accepted wherever a zone is read, and the plan has the IANA zone. Berlin's
// clocks are one hour ahead of UTC on this day.
func TestWindowsZones(t *testing.T) {
	t.Parallel()
	const day = "2026-01-01T00:00:00Z"
	for name, tc := range map[string]struct {
		kind Kind
		spec string
		zone string
	}{
		"option":               {KindCron5, "0 2 * * *", "w. europe standard time"},
		"timeZone":             {KindSAP, `{"repeatAt": "02:00", "timeZone": "W. Europe Standard Time"}`, ""},
		"timeZone, cron":       {KindCron5, `{"cron": "0 2 * * *", "timeZone": "W. Europe Standard Time"}`, ""},
		"CRON_TZ":              {KindCron5, "CRON_TZ=W. Europe Standard Time 0 2 * * *", ""},
		"TZ":                   {KindCron6, "TZ=W. Europe Standard Time 0 0 2 * * *", ""},
		"CRON_TZ, IANA":        {KindCron5, "CRON_TZ=Europe/Berlin 0 2 * * *", "W. Europe Standard Time"},
		"TZID":                 {KindRRule, "DTSTART;TZID=W. Europe Standard Time:20251201T020000\nRRULE:FREQ=DAILY", ""},
		"TZID and the same":    {KindRRule, "DTSTART;TZID=W. Europe Standard Time:20251201T020000\nRRULE:FREQ=DAILY", "Europe/Berlin"},
		"timeZone of a rule":   {KindRRule, `{"rrule": "FREQ=DAILY;BYHOUR=2;BYMINUTE=0;BYSECOND=0", "startTime": "2025-12-01T02:00:00+01:00", "timeZone": "W. Europe Standard Time"}`, ""},
		"timeZone of a window": {KindAzureScheduler, `{"frequency": "Day", "startTime": "2025-12-01T02:00:00", "timeZone": "W. Europe Standard Time"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Parse(tc.kind, []byte(tc.spec), Options{Zone: tc.zone, Created: instant(t, "2025-12-01T00:00:00Z")})
			require.NoError(t, err)
			require.Equal(t, "Europe/Berlin", p.Zone.String())
			next, ok := p.Next(instant(t, day))
			require.True(t, ok)
			require.Equal(t, instant(t, "2026-01-01T01:00:00Z"), next)
		})
	}
	calendar, err := ParseCalendar([]byte(`{"timeZone": "w. europe standard time", "dates": ["2026-01-01"]}`))
	require.NoError(t, err)
	require.Equal(t, "Europe/Berlin", calendar.zone.String())
}

func TestZonesAt(t *testing.T) {
	t.Parallel()
	list := ZonesAt(instant(t, "2026-11-23T12:00:00Z"))
	require.Greater(t, len(list), 550)
	byName := map[string]ZoneInfo{}
	for _, z := range list {
		byName[z.Name] = z
		require.False(t, !z.Change.IsZero() && z.NextOffset == z.Offset, "%+v", z)
	}
	require.Equal(t, ZoneInfo{Name: "Europe/Berlin", Windows: "W. Europe Standard Time", Abbreviation: "CET", Offset: 3600,
		Change: instant(t, "2027-03-28T01:00:00Z"), NextOffset: 7200}, byName["Europe/Berlin"])
	require.Equal(t, ZoneInfo{Name: "UTC", Windows: "UTC", Abbreviation: "UTC"}, byName["UTC"])
	require.Equal(t, 37800, byName["Australia/Lord_Howe"].NextOffset, "half an hour")
	require.True(t, byName["Asia/Tokyo"].Change.IsZero())
	require.NotContains(t, byName, "CET", "refused")
	for _, name := range WindowsZones() {
		zone, err := LoadZone(name)
		require.NoError(t, err)
		require.NotEmpty(t, byName[zone.String()].Windows, name)
	}
}

func TestZoneData(t *testing.T) {
	t.Parallel()
	folder, empty := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	require.Equal(t, "time/tzdata of "+runtime.Version(), zoneData([]string{empty, folder, "/does/not/exist"}), "no zones")
	write("Europe/Berlin", "TZif")
	require.Equal(t, folder, zoneData([]string{empty, folder}))
	write("+VERSION", "2024a\n")
	require.Equal(t, "2024a of "+folder, zoneData([]string{empty, folder}))
	require.NoError(t, os.Remove(filepath.Join(folder, "+VERSION")))
	write("tzdata.zi", "# version 2025b\n# This zic input file is in the public domain.\n")
	require.Equal(t, "2025b of "+folder, zoneData([]string{empty, folder}))
	require.Equal(t, filepath.Join(folder, "tzdata.zi"), zoneData([]string{filepath.Join(folder, "tzdata.zi")}), "a zip file")
	require.NotEmpty(t, ZoneData())
}
