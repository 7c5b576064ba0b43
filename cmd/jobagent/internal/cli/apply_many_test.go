package cli_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var many = flag.Int("apply.many", 0, "TestMany measures apply, diff and export with so many jobs; 500 are wanted within 5 s each")

// manyJobs returns files of n jobs with three steps and two schedules each.
func manyJobs(n int) string {
	var b strings.Builder
	b.WriteString("apiVersion: jobagent/v1\nkind: TargetGroup\nname: all\nmembers:\n  - server: sql1\n")
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: jobagent/v1
kind: Job
name: job %04d
description: one of many
schedules:
  - name: nightly
    cron5: "%d 2 * * *"
    zone: Europe/Berlin
  - name: hourly
    rrule: FREQ=HOURLY;BYMINUTE=%d;BYSECOND=0
    overlap: BufferOne
steps:
  - name: first
    target_group: all
    command: |
      UPDATE STATISTICS dbo.t%d;
      PRINT 'done';
  - name: second
    target_group: all
    retry_attempts: 3
    step_timeout_seconds: 60
    command: EXEC dbo.second;
  - name: third
    http: {url: "https://example.com/%d"}
    after: [first]
    run_when: Failed
`, i, i%60, i%60, i, i)
	}
	return b.String()
}

// With 500 jobs, each command takes less than 5 s:
//
//	go test ./cmd/jobagent/internal/cli -run TestMany -apply.many 500 -v
func TestMany(t *testing.T) {
	if *many == 0 {
		t.Skip("a measurement: give -apply.many 500")
	}
	f := newFixture(t)
	text := manyJobs(*many)
	measure := func(name string, run func()) {
		started := time.Now()
		run()
		took := time.Since(started)
		t.Logf("%-24s %v", name, took.Round(time.Millisecond))
		if took > 5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	measure("validate", func() { f.ok(t, "", text, "validate", "-f", "-", "-o", "json") })
	measure("apply from empty", func() {
		require.Contains(t, f.ok(t, main, text, "apply", "-f", "-"), fmt.Sprintf("%d created, 0 changed, 0 unchanged\n", *many+1))
	})
	measure("apply unchanged", func() {
		require.Equal(t, fmt.Sprintf("0 created, 0 changed, %d unchanged\n", *many+1), f.ok(t, main, text, "apply", "-f", "-"))
	})
	measure("diff", func() { f.ok(t, main, text, "diff", "-f", "-") })
	changed := strings.ReplaceAll(text, "PRINT 'done'", "PRINT 'changed'")
	measure("diff of all", func() {
		code, _, _ := f.run(t, main, changed, "diff", "-f", "-")
		require.Equal(t, 1, code)
	})
	measure("apply of all changed", func() {
		require.Contains(t, f.ok(t, main, changed, "apply", "-f", "-"), fmt.Sprintf("0 created, %d changed, 1 unchanged\n", *many))
	})
	var exported string
	measure("export", func() { exported = f.ok(t, main, "", "export") })
	require.NotEmpty(t, exported)
	dir := t.TempDir()
	measure("export --dir", func() { f.ok(t, main, "", "export", "--dir", dir) })
	measure("diff -f DIR", func() { f.ok(t, main, "", "diff", "-f", dir) })
}
