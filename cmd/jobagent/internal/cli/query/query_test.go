package query

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/targets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The same text of several databases is one message, whatever their names are and how often they
// say it.
func TestMessages(t *testing.T) {
	t.Parallel()
	var m messages
	for i := range 30 {
		database := targets.NewTarget("s", fmt.Sprint("d", i%3), "")
		m.add(database, targets.Message{Text: fmt.Sprintf("in '%s'", database.Database)})
		m.add(targets.NewTarget("s", "d1", ""), targets.Message{Number: 5, Text: "line\nbreak\x1b"})
	}
	for i := range 2 * maxMessages {
		m.add(targets.NewTarget("s", "d2", ""), targets.Message{Text: fmt.Sprint("message ", i)})
	}
	var out strings.Builder
	m.print(&out)
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, []string{"3 databases said (30 times): in '…'", `s/d1 said (30 times): Msg 5: line | break\u001b`, "s/d2 said: message 0"}, lines[:3])
	require.Equal(t, []string{"1002 messages more are not shown", ""}, lines[maxMessages:])
}
