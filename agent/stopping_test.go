package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
)

// A person who stops an agent reads what it waits for.
func TestAnnounceStop(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.InfoLevel)
	h := &taskHost{log: zap.New(core), cfg: Config{Grace: 30 * time.Second}}
	h.announceStop()
	require.Zero(t, logs.Len())
	var ends []func()
	begin := func(server, database string) {
		ends = append(ends, h.underway.begin(&entry{task: controldb.Task{JobName: "j", Target: targets.Target{Server: server, Database: database}}}))
	}
	last := func() string {
		h.announceStop()
		all := logs.TakeAll()
		require.Len(t, all, 1)
		return all[0].Message
	}
	begin("127.0.0.1,1433", "Tenant1")
	require.Equal(t, "waiting for 1 script on 127.0.0.1,1433/Tenant1; Ctrl-C again cancels it", last())
	begin("api.example.com", "")
	begin("127.0.0.1,1433", "Tenant1")
	require.Equal(t, "waiting for 3 scripts on 127.0.0.1,1433/Tenant1, api.example.com; Ctrl-C again cancels them", last())
	for i := range 8 {
		begin("s", fmt.Sprint("d", i))
	}
	require.Contains(t, last(), "waiting for 11 scripts on 127.0.0.1,1433/Tenant1, api.example.com, s/d0, s/d1, s/d2 and 5 more;")
	for _, end := range ends {
		end()
	}
	h.announceStop()
	require.Zero(t, logs.Len())
}
