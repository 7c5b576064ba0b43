package definitions

import (
	"fmt"
	"html"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs/model"
)

// step returns a step with a script.
func step(id int, name, command string) catalog.JobStep {
	return catalog.JobStep{StepID: id, StepName: name, CommandType: "TSql", Command: command, StepSettings: model.DefaultStep}
}

var tags = regexp.MustCompile(`<[^>]*>`)

// side returns the text of one side of a diff.
func side(lines []diffLine, before bool) string {
	var b strings.Builder
	for _, l := range lines {
		if before && l.Before > 0 || !before && l.After > 0 {
			b.WriteString(html.UnescapeString(tags.ReplaceAllString(string(l.HTML), "")) + "\n")
		}
	}
	return b.String()
}

// TestDiffHasBothSides: the lines of a diff are those of both scripts, with their numbers.
func TestDiffHasBothSides(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		text := func() string {
			var lines []string
			for range 1 + rng.IntN(4) { // so few lines that no context is left out
				lines = append(lines, []string{"SELECT 1;", "IF @x < 2", "-- <b>", "", "  GO", "PRINT N'a & b'"}[rng.IntN(6)])
			}
			return strings.Join(lines, []string{"\n", "\r\n"}[rng.IntN(2)])
		}
		a, b := text(), text()
		d := newStepDiff(step(1, "s", a), step(1, "s", b), "Changed", false)
		plain := func(s string) string { // with a line feed at the end of each line
			s = strings.ReplaceAll(s, "\r\n", "\n")
			if s != "" && !strings.HasSuffix(s, "\n") {
				s += "\n"
			}
			return s
		}
		if plain(a) == plain(b) {
			require.Empty(t, d.Lines)
			require.Equal(t, a != b, d.Note != "", "%q %q", a, b)
			continue
		}
		require.NotEmpty(t, d.Lines, "%q %q", a, b)
		require.Equal(t, plain(a), side(d.Lines, true), "%q %q", a, b)
		require.Equal(t, plain(b), side(d.Lines, false), "%q %q", a, b)
		last := [2]int{}
		for _, l := range d.Lines {
			for i, n := range []int{l.Before, l.After} {
				if n > 0 {
					require.Equal(t, last[i]+1, n)
					last[i] = n
				}
			}
		}
		split := newStepDiff(step(1, "s", a), step(1, "s", b), "Changed", true)
		var left, right []diffLine
		for _, p := range split.Pairs {
			left, right = append(left, p.Left), append(right, p.Right)
		}
		require.Equal(t, side(d.Lines, true), side(left, true))
		require.Equal(t, side(d.Lines, false), side(right, false))
	}
}

func TestDiffSteps(t *testing.T) {
	t.Parallel()
	changed := step(2, "b", "SELECT 2;")
	changed.Timeout, changed.RetryAttempts = 60, 3
	long := strings.Repeat("x;\n", 50)
	list := diffSteps(
		[]catalog.JobStep{step(1, "a", "SELECT 1;"), step(2, "b", "SELECT 2;"), step(3, "c", "SELECT 3;"), step(4, "e", long), step(5, "gone", "")},
		[]catalog.JobStep{step(1, "a", "SELECT 1;"), changed, step(3, "d", "SELECT 3;"), step(4, "e", "y;\n"+long+"z;"), step(6, "new", "SELECT 6;")}, false)
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprintf("%d %s>%s %s %d %d/%d", d.ID, d.Before, d.Name, d.Change, len(d.Options), d.Added, d.Removed))
	}
	require.Equal(t, []string{"1 >a Unchanged 0 0/0", "2 >b Changed 2 0/0", "3 c>d Changed 0 0/0", "4 >e Changed 0 2/0", "6 >new Added 9 1/0", "5 >gone Removed 9 0/0"}, got)
	gaps := 0
	for _, l := range list[3].Lines {
		if l.Gap {
			gaps++
		}
	}
	require.Equal(t, 1, gaps, "what is between two changes is left out")
}

// TestLargeDiffIsFast: two scripts of half a megabyte without a common line.
func TestLargeDiffIsFast(t *testing.T) {
	t.Parallel()
	text := func(word string) string {
		var b strings.Builder
		for i := range 9_000 {
			fmt.Fprintf(&b, "SELECT %d AS %s_%d; -- a comment of the line\n", i, word, i)
		}
		return b.String()
	}
	a, b := text("a"), text("b")
	began := time.Now()
	d := newStepDiff(step(1, "s", a), step(1, "s", b), "Changed", false)
	require.Less(t, time.Since(began), 5*time.Second)
	require.Contains(t, d.Note, "Only the first")
	require.Len(t, d.Lines, clipLines)
}

func TestClippedScript(t *testing.T) {
	t.Parallel()
	s := newScript(strings.Repeat("ü", clipBytes), 0, "x", "")
	require.True(t, s.Clipped)
	require.NotContains(t, string(s.HTML), "\ufffd", "a character is not cut in two")
	s = newScript(strings.Repeat("x\n", clipLines+10), 1, "x", "")
	require.True(t, s.Clipped)
	require.Equal(t, clipLines+11, s.Lines)
	require.Equal(t, clipLines, strings.Count(string(s.HTML), `class="line"`))
	require.False(t, newScript("", 1, "x", "").Clipped)
	require.False(t, newScript("one", 1, "x", "").Clipped)
}
