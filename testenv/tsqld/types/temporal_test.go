package types

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestParseTemporal follows the supported string literal formats of "datetime", "date", "time" and
// "datetime2".
func TestParseTemporal(t *testing.T) {
	for _, c := range []struct {
		in, typ string
		style   int
		want    string
	}{
		{"4/15/1996", "date", -1, "1996-04-15"}, {"4-15-1996", "date", -1, "1996-04-15"},
		{"4.15.96", "date", -1, "1996-04-15"},
		{"04/96/15", "date", -1, "#241"}, {"1996/04/15", "date", -1, "1996-04-15"},
		{"19960415", "date", -1, "1996-04-15"}, {"960415", "date", -1, "1996-04-15"},
		{"490101", "date", -1, "2049-01-01"}, {"500101", "date", -1, "1950-01-01"}, {"1996", "date", -1, "1996-01-01"},
		{"April 15, 1996", "date", -1, "1996-04-15"}, {"Apr 15 1996", "date", -1, "1996-04-15"},
		{"15 April 1996", "date", -1, "1996-04-15"},
		{"1996 apr 15", "date", -1, "1996-04-15"}, {"15-Apr-1996", "date", -1, "1996-04-15"},
		{"Apr 1996", "date", -1, "1996-04-01"}, {"1996 April", "date", -1, "1996-04-01"},
		{"2004-05-23T14:25:10", "datetime", -1, "2004-05-23 14:25:10.000"},
		{"2004-05-23T14:25:10.487", "datetime", -1, "2004-05-23 14:25:10.487"},
		{"20040523 14:25:10.487", "datetime", -1, "2004-05-23 14:25:10.487"},
		{"2004-05-23T14:25:10Z", "datetime", -1, "2004-05-23 14:25:10.000"},
		{"2004-05-23 14:25:10.4871", "datetime", -1, "#241"}, {"2004-05-23 14:25:10 +01:00", "datetime", -1, "#241"},
		{"01/01/98 23:59:59.999", "datetime", -1, "1998-01-02 00:00:00.000"},
		{"01/01/98 23:59:59.995", "datetime", -1, "1998-01-01 23:59:59.997"},
		{"01/01/98 23:59:59.994", "datetime", -1, "1998-01-01 23:59:59.993"},
		{"01/01/98 23:59:59.998", "datetime", -1, "1998-01-01 23:59:59.997"},
		{"14:30", "time(0)", -1, "14:30:00"}, {"14:30:20:999", "time(3)", -1, "14:30:20.999"},
		{"14:30:20.9", "time(1)", -1, "14:30:20.9"},
		{"4am", "time(0)", -1, "04:00:00"}, {"4 PM", "time(0)", -1, "16:00:00"}, {"12 AM", "time(0)", -1, "00:00:00"},
		{"12 PM", "time(0)", -1, "12:00:00"},
		{"04:30:20PM", "time(0)", -1, "16:30:20"}, {"24:00", "time(0)", -1, "#241"}, {"10:60", "time(0)", -1, "#241"},
		{"", "datetime", -1, "1900-01-01 00:00:00.000"}, {"  2020-01-02  ", "date", -1, "2020-01-02"},
		{"10:00", "datetime", -1, "1900-01-01 10:00:00.000"},
		{"2021-02-30", "date", -1, "#241"}, {"2021-02-30", "datetime", -1, "#242"},
		{"2021-13-01", "datetime", -1, "#242"}, {"1752-12-31", "datetime", -1, "#242"},
		{"2080-01-01", "smalldatetime", -1, "#242"}, {"garbage", "smalldatetime", -1, "#295"},
		{"garbage", "date", -1, "#241"},
		{"2020-01-02 03:04:05.1234567", "datetime2(7)", -1, "2020-01-02 03:04:05.1234567"},
		{"2020-01-02 03:04:05.12345678", "datetime2(7)", -1, "#241"},
		{"2020-01-02 03:04:05.1234567", "datetime2(3)", -1, "2020-01-02 03:04:05.123"},
		{"2020-01-02T03:04:05.5+02:00", "datetimeoffset(1)", -1, "2020-01-02 03:04:05.5 +02:00"},
		{"2020-01-02T03:04:05Z", "datetimeoffset(0)", -1, "2020-01-02 03:04:05 +00:00"},
		{"2020-01-02 03:04 +14:01", "datetimeoffset(0)", -1, "#241"},
		{"1912-10-25 12:24:32 +10:0", "datetimeoffset(3)", -1, "1912-10-25 12:24:32.000 +10:00"},
		{"1912-10-25 12:24:32 +10:5", "datetimeoffset(0)", -1, "1912-10-25 12:24:32 +10:05"},
		{"1912-10-25 12:24:32 +10:", "datetimeoffset(0)", -1, "#241"},
		{"1912-10-25 12:24:32 +10:000", "datetimeoffset(0)", -1, "#241"},
		{"0001-01-01 00:00 +01:00", "datetimeoffset(0)", -1, "#241"},
		{"02/03/2020", "date", 103, "2020-03-02"}, {"02/03/2020", "date", 101, "2020-02-03"},
		{"2020.03.02", "date", 102, "2020-03-02"}, {"31.12.20", "date", 4, "2020-12-31"},
		{"31/12/2020", "date", -1, "#241"}, {"20201231", "date", 112, "2020-12-31"}, {"2020-12-31", "date", 999, "#281"},
	} {
		typ := mustType(t, c.typ)
		v, err := ParseTemporal(c.in, typ, c.style, Locale{})
		if c.want[0] == '#' {
			require.Equal(t, c.want[1:], itoa(number(err)), "%q as %s: %v", c.in, c.typ, err)
			continue
		}
		require.NoError(t, err, "%q as %s", c.in, c.typ)
		require.Equal(t, c.want, show(t, v, typ), "%q as %s", c.in, c.typ)
	}
	order, ok := DateOrderByName("DMY")
	require.True(t, ok)
	v, err := ParseTemporal("02/03/2020", DateType, NoStyle, Locale{Order: order})
	require.NoError(t, err)
	require.Equal(t, "2020-03-02", show(t, v, DateType))
}

// TestCalendar compares with package time on every 97th day.
func TestCalendar(t *testing.T) {
	start := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := int64(0); n <= maxDays; n += 97 {
		want := start.AddDate(0, 0, int(n))
		y, m, d := DateOf(n)
		require.Equal(t, []int{want.Year(), int(want.Month()), want.Day()}, []int{y, m, d}, n)
		require.Equal(t, n, Days(y, m, d))
		require.Equal(t, int(want.Weekday()), Weekday(n))
	}
	at := time.Date(2024, 2, 29, 23, 59, 58, 123456700, time.UTC)
	require.Equal(t, at, TimeOf(TicksOf(at)))
	require.EqualValues(t, minDateTime, Days(1753, 1, 1)*TicksPerDay)
	require.EqualValues(t, days1900, Days(1900, 1, 1))
	require.EqualValues(t, maxSmall, Days(2079, 6, 6))
	require.EqualValues(t, maxDays, Days(9999, 12, 31))
}

// TestDateTimeGrid checks that every 1/300 s survives the stored form.
func TestDateTimeGrid(t *testing.T) {
	base := Days(2020, 1, 1) * TicksPerDay
	for n := range int64(3000) {
		ticks := base + fromThreeHundredths(n)
		require.Equal(t, n, ThreeHundredths(ticks))
		require.Equal(t, ticks, RoundDateTime(ticks))
	}
	days, n := DateTimeParts(base)
	back, ok := DateTimeFromParts(days, n)
	require.True(t, ok)
	require.Equal(t, base, back)
}

// FuzzParseClock checks that an accepted text prints and reads back as the same value.
func FuzzParseClock(f *testing.F) {
	for _, s := range []string{"2020-01-02 03:04:05.1234567", "Jan 2 1999 4PM", "1/2/3", "20200102", "T10:00", "10:00Z", "5 5 5", "Feb-29-2020"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseTemporal(s, DateTime2Type, NoStyle, Locale{})
		if err != nil {
			return
		}
		text, err := Convert(v, DateTime2Type, VarCharMax, NoStyle)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseTemporal(text.(string), DateTime2Type, NoStyle, Locale{})
		if err != nil || back != v {
			t.Fatalf("%q: %v, printed %q, read back %v, %v", s, v, text, back, err)
		}
	})
}

// TestHijri converts every date to the Hijri calendar and back.
func TestHijri(t *testing.T) {
	for n := hijriEpoch; n <= maxDays; n += 31 {
		y, m, d := hijri(n)
		back, ok := fromHijri(y, m, d)
		require.True(t, ok, "%d: %d-%d-%d", n, y, m, d)
		require.Equal(t, n, back)
	}
	v, err := ParseTemporal("10/12/1427", DateType, 131, Locale{})
	require.NoError(t, err)
	require.Equal(t, "2006-12-30", show(t, v, DateType))
	_, err = Convert(int64(0), DateType, VarCharMax, 131)
	require.EqualValues(t, 9814, number(err))
}
