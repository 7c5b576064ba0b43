package builtin_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/timezone"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// The product and the embedded server have the same names of Windows time zones.
func TestWindowsZonesAreThoseOfTheProduct(t *testing.T) {
	t.Parallel()
	product, err := os.ReadFile("../../../jobs/internal/winzone/windowszones.txt")
	require.NoError(t, err)
	own, err := os.ReadFile("timezone/windowszones.txt")
	require.NoError(t, err)
	require.Equal(t, string(product), string(own), "copy jobs/internal/winzone/windowszones.txt")
	for line := range strings.Lines(string(own)) {
		name, _, ok := strings.Cut(strings.TrimSpace(line), "\t")
		require.True(t, ok, line)
		_, err := timezone.At(int64(0), types.DateTime2Type, name)
		require.NoError(t, err, name)
	}
}

// TestAt follows the examples of "AT TIME ZONE (Transact-SQL)" and its rules for changes of the
// clock.
func TestAtTimeZone(t *testing.T) {
	for _, c := range []struct{ in, typ, zone, want string }{
		{"2022-07-01 12:00", "datetime2(0)", "Central European Standard Time", "2022-07-01 12:00:00 +02:00"},
		{"2022-01-01 12:00", "datetime2(0)", "central european standard time", "2022-01-01 12:00:00 +01:00"},
		{"2022-01-01 12:00 +00:00", "datetimeoffset(0)", "Pacific Standard Time", "2022-01-01 04:00:00 -08:00"},
		{"2022-03-27 02:30", "datetime2(0)", "Central European Standard Time", "2022-03-27 03:30:00 +02:00"},
		{"2022-10-30 01:59", "datetime2(0)", "Central European Standard Time", "2022-10-30 01:59:00 +02:00"},
		{"2022-10-30 02:30", "datetime2(0)", "Central European Standard Time", "2022-10-30 02:30:00 +02:00"},
		{"2022-10-30 03:00", "datetime2(0)", "Central European Standard Time", "2022-10-30 03:00:00 +01:00"},
		{"2022-01-01 12:00", "datetime2(0)", "UTC", "2022-01-01 12:00:00 +00:00"},
		{"2022-01-01 12:00", "datetime2(0)", "India Standard Time", "2022-01-01 12:00:00 +05:30"},
	} {
		typ, err := types.ParseType(c.typ)
		require.NoError(t, err)
		v, err := types.ParseTemporal(c.in, typ, types.NoStyle, types.Locale{})
		require.NoError(t, err)
		r, err := timezone.Type(typ)
		require.NoError(t, err)
		got, err := timezone.At(v, typ, c.zone)
		require.NoError(t, err)
		text, err := types.Convert(got, r, types.VarCharMax, types.NoStyle)
		require.NoError(t, err)
		require.Equal(t, c.want, text, "%s %s", c.in, c.zone)
	}
	_, err := timezone.At(int64(0), types.DateTime2Type, "Middle-earth Standard Time")
	var message *mserr.Error
	require.ErrorAs(t, err, &message)
	require.EqualValues(t, 9820, message.Number)
}
