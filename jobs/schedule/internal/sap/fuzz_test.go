package sap

import (
	"testing"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

func FuzzFormat(f *testing.F) {
	f.Add("2013-02-08", "YYYY-MM-DD")
	f.Add("2015-10-20 04:30 +0000", "YYYY-MM-DD HH:mm Z")
	f.Add("Do of March 4pm", "Do [of] MMMM ha")
	f.Fuzz(func(t *testing.T, text, format string) {
		tokens, unknown := splitFormat(format)
		if unknown != "" || len(format) > maxFormat {
			return
		}
		m, err := parseFormatted(text, tokens, time.Date(2026, 1, 31, 8, 30, 0, 0, time.UTC))
		if err == nil && (m.Second < 0 || m.Second >= civil.DaySeconds || m.Offset < -86400 || m.Offset > 86400) {
			t.Fatalf("%q %q: %+v", text, format, m)
		}
	})
}
