package sap

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// TestFormats parses dates with all tokens of formats.
func TestFormats(t *testing.T) {
	now := time.Date(2026, 1, 31, 8, 30, 0, 0, time.UTC) // a Saturday
	for _, one := range []struct{ format, text, want string }{
		{"YYYY-MM-DDTHH:mm:ss.SSS", "2026-12-31T23:59:58.123", "2026-12-31 23:59:58"},
		{"Do MMMM YYYY", "3rd February 2027", "2027-02-03"},
		{"MMM D YY", "mar 1 69", "1969-03-01"},
		{"MMM D YY", "mar 1 68", "2068-03-01"},
		{"Do", "12nd", `"12nd" does not begin with Do`},
		{"DDD YYYY", "60 2024", "2024-02-29"},
		{"DDDD YYYY", "366 2023", "there is no 2023-366"},
		{"GGGG-[W]WW-E", "2026-W01-1", "2025-12-29"},
		{"GG W", "26 53", "2026-12-28"},
		{"E YYYY", "3 2027", "2027-01-06"}, // of the year's first week
		{"E", "7", "2026-02-01"},
		{"gggg ww e", "2026 01 0", "2025-12-28"},
		{"gg-w", "26-2", "2026-01-04"},
		{"gggg ww", "2026 53", "the year 2026 has no week 53"},
		{"e YYYY", "6 2027", "2027-01-02"},
		{"e", "0", "2026-01-25"},
		{"w", "5", "2026-01-25"},
		{"Q YYYY", "3 2026", "2026-07-01"},
		{"DD", "05", "2026-01-05"},
		{"MM", "02", "2026-02-01"},
		{"HH:mm", "07:05", "2026-01-31 07:05:00"},
		{"h:mm a", "8:05 pm", "2026-01-31 20:05:00"},
		{"hh A", "12 AM", "2026-01-31 00:00:00"},
		{"hh", "08", "h and hh need a or A"},
		{"YYYY HH Z", "2026 01 -01:30", "2026-01-01 01:00:00 -5400"},
		{"X", "86399.5", "1970-01-01 23:59:59 0"},
		{"x", "-1", "1969-12-31 23:59:59 0"},
		{"x", "1.5", `"1.5" does not begin with x`},
		{"[at] YYYY", "at 2026", "2026-01-01"},
		{"YYYY", "2026 ", `" " follows the date`},
		{"YYYY/", "2026-", `want "/" at "-"`},
	} {
		tokens, unknown := splitFormat(one.format)
		assert.Empty(t, unknown, one.format)
		m, err := parseFormatted(one.text, tokens, now)
		got := time.Unix(m.Day*civil.DaySeconds+int64(m.Second), 0).UTC().Format(time.DateTime)
		switch {
		case err != nil:
			got = err.Error()
		case m.HasOffset:
			got += " " + strconv.Itoa(m.Offset)
		case !m.HasTime:
			got = got[:len(time.DateOnly)]
		}
		assert.Equal(t, one.want, got, "%s of %s", one.text, one.format)
	}
}
