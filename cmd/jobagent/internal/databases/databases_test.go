package databases

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/targets/question"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A comma before a port does not separate servers.
func TestNames(t *testing.T) {
	t.Parallel()
	for want, given := range map[string][]string{
		"a|b": {"a,b"}, "a,1433|b": {"a,1433, b"}, `a\x|b,1|c`: {`a\x,b,1`, "c"}, "1433": {"1433"}, "a|1433": {"a", "1433"}, "": {","},
	} {
		require.Equal(t, want, strings.Join((&Choice{Servers: given}).names(), "|"))
	}
}

// While thousands of databases are asked, the number of those that have answered is printed.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		app := connect.New(nil, nil, &out)
		var asked question.Options
		stop := Progress(app, &asked, 2000)
		for i := range 100 {
			asked.Ended([]error{nil, question.ErrEnough, errors.New("x"), nil}[i%4])
		}
		<-time.After(progressTime + time.Second)
		stop()
		stop()
		require.Equal(t, "100 of 2000 databases asked, 25 failed\n", out.String())
		app.Live = terminal.ProgressNone
		Progress(app, &asked, 1)()
	})
}
