package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded is an event log in memory, which refuses all entries.
type recorded []string

func (r *recorded) add(kind string, id uint32, text string) error {
	*r = append(*r, fmt.Sprintf("%s %d %s", kind, id, text))
	return errors.New("the event log file is full")
}
func (r *recorded) Info(id uint32, text string) error    { return r.add("info", id, text) }
func (r *recorded) Warning(id uint32, text string) error { return r.add("warning", id, text) }
func (r *recorded) Error(id uint32, text string) error   { return r.add("error", id, text) }

// Each line is an event of its level, in whatever pieces it comes.
func TestEventsHaveTheLevelsOfLines(t *testing.T) {
	t.Parallel()
	var log recorded
	e := &events{log: &log}
	text := `{"level":"info","msg":"agent started"}
{"level":"warn","msg":"a term was lost"}

{"level":"error","msg":"no connection"}
error: invalid configuration
{"level":"debug","msg":"claimed"}
`
	for _, piece := range strings.SplitAfter(text, "e") {
		n, err := e.Write([]byte(piece))
		require.NoError(t, err)
		require.Equal(t, len(piece), n)
	}
	require.Equal(t, recorded{
		`info 1 {"level":"info","msg":"agent started"}`, `warning 1 {"level":"warn","msg":"a term was lost"}`,
		`error 1 {"level":"error","msg":"no connection"}`, "error 1 error: invalid configuration",
		`info 1 {"level":"debug","msg":"claimed"}`,
	}, log)
}

// A line that is longer than an event is several events, none of which ends within a character.
func TestLongLinesAreSeveralEvents(t *testing.T) {
	t.Parallel()
	var log recorded
	e := &events{log: &log}
	long := strings.Repeat("ä", maxEvent+7) // two bytes each
	_, err := e.Write([]byte("x" + long + "\nnext\n"))
	require.NoError(t, err)
	require.Equal(t, "error 1 next", log[len(log)-1])
	var whole strings.Builder
	for _, entry := range log[:len(log)-1] {
		text := strings.TrimPrefix(entry, "error 1 ")
		require.LessOrEqual(t, len(text), maxEvent)
		require.NotContains(t, text, "\ufffd")
		whole.WriteString(text)
	}
	require.Equal(t, "x"+long, whole.String())
	_, err = e.Write([]byte(strings.Repeat("y", maxEvent)))
	require.NoError(t, err)
	require.Less(t, len(e.line), maxEvent, "a line without an end is not kept")
}
