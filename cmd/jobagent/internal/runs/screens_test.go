package runs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

var (
	writeScreens = flag.Bool("screens.write", false, "write testdata/screens.txt")
	// JOBAGENT_DSN=… go test -run TestRecordScreen -screens.record FILE=EXECUTION_ID
	recordScreen = flag.String("screens.record", "", "`FILE=EXECUTION_ID`: write the state of a run to testdata/FILE.json")
)

// TestRecordScreen writes the state of a real run for TestScreens.
func TestRecordScreen(t *testing.T) {
	file, id, ok := strings.Cut(*recordScreen, "=")
	if !ok {
		t.Skip("records a run for TestScreens: give -screens.record, and JOBAGENT_DSN")
	}
	store, err := controldb.Open(t.Context(), controldb.Config{DSN: os.Getenv("JOBAGENT_DSN")})
	require.NoError(t, err)
	defer store.Close()
	d, err := ReadDetail(t.Context(), executions.On(store), uuid.MustParse(id), nil)
	require.NoError(t, err)
	text, err := json.MarshalIndent(d, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join("testdata", file+".json"), append(text, '\n'), 0o644))
}

// recorded returns the state of a real run.
func recorded(t *testing.T, name string) *Detail {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	d := new(Detail)
	require.NoError(t, json.Unmarshal(text, d))
	d.ReadAt = time.Now()
	return d
}

// manySteps returns a run with so many steps: those before the one in progress have ended, and one
// of them failed.
func manySteps(d *Detail, steps int) *Detail {
	one := d.Run.Steps[0]
	d.Run.Steps = nil
	for n := 1; n <= steps; n++ {
		s := one
		s.StepID, s.Name = n, fmt.Sprintf("Step %d of the night", n)
		switch {
		case n > steps*2/3:
			d.Run.Steps = append(d.Run.Steps, executions.RunStep{StepID: n, Name: s.Name})
			continue
		case n < steps*2/3:
			s.Lifecycle, s.EndTime = "Succeeded", s.StartTime.Add(9*time.Second)
			s.States = []executions.StateCount{{Lifecycle: "Succeeded", Total: 120}}
			if n == 3 {
				s.Lifecycle, s.States = "Failed", []executions.StateCount{{Lifecycle: "Succeeded", Total: 119}, {Lifecycle: "Failed", Total: 1}}
			}
		}
		d.Run.Steps = append(d.Run.Steps, s)
	}
	var failed []executions.RunTarget
	for n := range 40 {
		failed = append(failed, executions.RunTarget{
			StepID: 3, Server: "east.example.com", Database: fmt.Sprintf("tenant%d", n), LastMessage: fmt.Sprintf("Msg %d, Level 16: the tenant is locked", 50000+n%6),
		})
	}
	d.Failures = groupFailures(failed)
	return d
}

// drawn returns what a terminal of this size shows, without blanks at the ends of lines.
func drawn(t *testing.T, m *picture) string {
	t.Helper()
	screen := vt.NewEmulator(m.width, m.height)
	_, err := screen.WriteString(strings.ReplaceAll(m.View().Content, "\n", "\r\n"))
	require.NoError(t, err)
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(screen.String(), " \n"), "\n") {
		b.WriteString(strings.TrimRight("| "+line, " ") + "\n")
	}
	return b.String()
}

// The screens of runs that were recorded, at several sizes. -screens.write writes them.
func TestScreens(t *testing.T) {
	synctest.Test(t, testScreens) // whose time stands still
}

func testScreens(t *testing.T) {
	var b bytes.Buffer
	for _, c := range []struct {
		name   string
		detail func() *Detail
		title  string
		notes  []string
		sizes  [][2]int
	}{
		{name: "120 targets", detail: func() *Detail { return recorded(t, "run120") }, sizes: [][2]int{{80, 24}, {140, 40}, {40, 20}}},
		{name: "120 targets at the end", detail: func() *Detail { return recorded(t, "run120_ended") }, sizes: [][2]int{{80, 24}, {140, 40}, {40, 20}}},
		{name: "10 000 targets", detail: func() *Detail { return recorded(t, "run10000") }, sizes: [][2]int{{80, 24}, {140, 40}, {40, 20}}},
		{name: "30 steps", detail: func() *Detail { return manySteps(recorded(t, "run120"), 30) }, sizes: [][2]int{{80, 24}, {100, 12}, {80, 60}, {40, 10}, {60, 5}}},
		{
			name: "no agent", detail: func() *Detail { return recorded(t, "run120") }, notes: agentNote(0, true), sizes: [][2]int{{80, 24}},
		},
		{name: "before the first answer", detail: func() *Detail { return nil }, notes: []string{"the control database does not answer"}, sizes: [][2]int{{80, 24}}},
		{name: "a backfill", detail: func() *Detail { return recorded(t, "run120") }, title: "backfill 4 of slow / s: 1 of 6 runs ended, 1 failed", sizes: [][2]int{{80, 24}, {40, 12}}},
	} {
		for _, size := range c.sizes {
			m := &picture{paint: terminal.Painter{}, width: size[0], height: size[1]}
			m.run, m.title, m.notes = c.detail(), c.title, c.notes
			if m.title != "" {
				m.counts = jobs.Counts{Failed: 1, Running: 1, Waiting: 4}
			}
			fmt.Fprintf(&b, "%s, %d columns, %d lines\n%s\n", c.name, size[0], size[1], drawn(t, m))
			lines := strings.Split(m.View().Content, "\n")
			require.LessOrEqual(t, len(lines), size[1], "%s at %v", c.name, size)
			for _, line := range lines {
				require.LessOrEqual(t, terminal.Width(stripped(line)), size[0], "%s at %v: %q", c.name, size, line)
			}
		}
	}
	file := filepath.Join("testdata", "screens.txt")
	if *writeScreens {
		require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "after a change that is meant, write it with -screens.write")
}

// stripped returns a line without styles.
func stripped(line string) string {
	var b strings.Builder
	for i, part := range strings.Split(line, "\x1b[") {
		if _, rest, ok := strings.Cut(part, "m"); i > 0 && ok {
			part = rest
		}
		b.WriteString(part)
	}
	return b.String()
}

// The states have colours, unless the painter is plain.
func TestScreenColors(t *testing.T) {
	m := &picture{width: 80, height: 24}
	m.run = recorded(t, "run120_ended")
	require.Contains(t, m.View().Content, "\x1b[31m✗ Failed")
	m.paint.Plain = true
	require.NotContains(t, m.View().Content, "\x1b")
}

// TestErrorsAreShownOnce: the picture that stays has the errors only if the command does not print
// them below it.
func TestErrorsAreShownOnce(t *testing.T) {
	d := recorded(t, "run120_ended")
	require.NotEmpty(t, d.Failures)
	text := output.OneLine(d.Failures[0].Message)[:20]
	require.NotEmpty(t, d.Run.LastMessage)
	for _, c := range []struct {
		name                   string
		last, repeated, active bool
		shown                  bool
	}{
		{"before the end", false, true, true, true},
		{"at the end, and a tree follows", true, true, false, false},
		{"at the end, and the tree goes elsewhere", true, false, false, true},
		{"interrupted: no tree follows", true, true, true, true},
	} {
		m := &picture{width: 100, height: 40}
		run := *d
		run.Run.Active = c.active
		m.news, m.last = news{run: &run, repeated: c.repeated}, c.last
		lines := strings.Join(m.lines(), "\n")
		require.Equal(t, c.shown, strings.Contains(lines, text), c.name)
		require.Equal(t, c.shown && !c.active, strings.Contains(lines, output.OneLine(d.Run.LastMessage)), c.name)
		require.Contains(t, lines, "failed", "%s: the numbers stay", c.name)
	}
}
