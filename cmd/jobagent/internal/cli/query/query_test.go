package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/question"
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

// Who waits for thousands of databases sees how far the question is.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		q := &query{app: connect.New(nil, nil, &out)}
		var asked question.Question
		stop := q.progress(&asked, 2000)
		for i := range 100 {
			asked.Ended([]error{nil, question.ErrEnough, errors.New("x"), nil}[i%4])
		}
		<-time.After(progressTime + time.Second)
		stop()
		stop()
		require.Equal(t, "100 of 2000 databases asked, 25 failed\n", out.String())
		q.app.Live = terminal.ProgressNone
		q.progress(&asked, 1)()
	})
}
