package mssql

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

func TestProgramName(t *testing.T) {
	t.Parallel()
	token := newToken()
	require.Len(t, token, 16)
	require.NotEqual(t, token, newToken())
	require.Equal(t, "jobagent "+token, programName("jobagent", token, ""))
	require.Equal(t, "jobagent "+token+" run=1", programName("jobagent", token, "run=1"))
	long := make([]rune, 200)
	for i := range long {
		long[i] = 'ö'
	}
	name := []rune(programName(string(long), token, "run=1"))
	require.Len(t, name, 128)
	require.Equal(t, " "+token, string(name[128-17:]))
	name = []rune(programName("jobagent", token, string(long)))
	require.Len(t, name, 128)
	require.Equal(t, "jobagent "+token+" ö", string(name[:27]))
	require.Equal(t, "jobagent "+token+" "+strings.Repeat("😀", 51), programName("jobagent", token, strings.Repeat("😀", 60)), "units of UTF-16")
}

// An attempt that is stopped between two batches leaves nothing behind on the server.
func TestStoppedBetweenTwoBatches(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(targets.ErrStopRequested)
	a := &attempt{sent: true, messages: &collector{}}
	res := a.result(ctx, a.batch(ctx, &session{}, "SELECT 2", 1, nil))
	require.Equal(t, targets.Canceled, res.Outcome)
	require.Equal(t, "The run was stopped; the script was between two batches, and the rest was not sent.", res.Summary)
}

// A wire under the driver's own TLS cannot read the stream, and still works.
func TestWireThatCannotBeRead(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	go func() { // ends with the pipe
		_, _ = theirs.Write([]byte{0x16, 3, 3})
		_ = theirs.Close()
	}()
	d := loginDialer{HostDialer: oneConn{ours}}
	conn, err := d.DialContext(t.Context(), "tcp", "h:1433")
	require.NoError(t, err)
	w, ok := conn.(*wire)
	require.True(t, ok)
	text, err := io.ReadAll(w)
	require.NoError(t, err)
	require.Equal(t, []byte{0x16, 3, 3}, text)
	w.setRows(tdsguard.NoRows)
	require.Zero(t, w.spid())
	require.Zero(t, w.droppedErrors())
	require.False(t, w.cancel(time.Second))
	require.NoError(t, w.Close())
}

// oneConn is a dialer with one connection.
type oneConn struct{ net.Conn }

func (c oneConn) DialContext(context.Context, string, string) (net.Conn, error) { return c.Conn, nil }
func (oneConn) HostName() string                                                { return "" }
