package syntax

import (
	"testing"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

func FuzzDate(f *testing.F) {
	for _, text := range []string{"2013-02-08", "2013-W06-5", "2013-039", "2013-02-08 09+07:00", "20130208T093000,5Z", "Fri, 08 Feb 2013 09:00 EST"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseDate(text)
		if err == nil && (m.Second < 0 || m.Second >= civil.DaySeconds || m.Offset < -86400 || m.Offset > 86400) {
			t.Fatalf("%q: %+v", text, m)
		}
	})
}
