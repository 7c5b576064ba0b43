package cli_test

import (
	"database/sql"
	"net/url"
	"runtime/debug"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
)

// The least limit that --max-memory takes, and the memory of the process beside it, in bytes.
const (
	leastMemory   = 64 << 20
	processMemory = 256 << 20
)

func TestMemorySize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]embedded.MemorySize{
		"0": 0, "1": 1, "7B": 7, "512MB": 512 << 20, "512mb": 512 << 20, " 2 GB ": 2 << 30, "64KB": 64 << 10, "1500": 1500,
	} {
		var b embedded.MemorySize
		require.NoError(t, b.Set(text), text)
		require.Equal(t, want, b, text)
		var again embedded.MemorySize
		require.NoError(t, again.Set(b.String()), "what is shown can be given")
		require.Equal(t, b, again)
	}
	for _, text := range []string{"", "MB", "-1", "1.5GB", "512 M", "9000000000GB", "x"} {
		var b embedded.MemorySize
		require.Error(t, b.Set(text), text)
	}
	require.Error(t, embedded.MemorySize(leastMemory-1).Check())
	require.NoError(t, embedded.MemorySize(leastMemory).Check())
}

// --max-memory limits the memory of a statement of the embedded server.
func TestMaxMemoryReachesTheServer(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	t.Setenv("GOMEMLIMIT", "") // which precedes
	password := embedded.RandomPassword()
	server, err := embedded.Start(t.Context(), "", "127.0.0.1:0", password, "disable", zap.NewNop(), embedded.MemorySize(leastMemory).Option)
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	require.Equal(t, int64(leastMemory+processMemory), debug.SetMemoryLimit(-1))
	u := server.URL("master")
	u.User = url.UserPassword("sa", password)
	db, err := sql.Open("sqlserver", u.String())
	require.NoError(t, err)
	defer db.Close()
	var n int
	require.NoError(t, db.QueryRowContext(t.Context(),
		"SELECT LEN(REPLICATE(CAST('a' AS varchar(max)), 4000000))").Scan(&n))
	require.Equal(t, 4000000, n)
	err = db.QueryRowContext(t.Context(), "SELECT LEN(REPLICATE(CAST('a' AS varchar(max)), 40000000))").Scan(&n)
	var m mssqldb.Error
	require.ErrorAs(t, err, &m)
	require.Equal(t, int32(701), m.Number)
}
